"""Korean particles that agree with the noun in Hangul before them (Hangul Orthography; 조사).

은 follows a consonant and 는 a vowel, likewise 이/가, 을/를, 과/와; 로 follows a vowel or ㄹ, 으로 any other
consonant. Nouns in other scripts are read in too many ways to have rules.
"""

import unicodedata

import regex

_PAIRS = (
    "은/는 이/가 을/를 과/와 이여/여 이시여/시여 으로/로 으로서/로서 으로써/로써 으로부터/로부터 "
    "으로는/로는 으로도/로도 으로만/로만 으로의/로의 으론/론 이나/나 이나마/나마 이랑/랑 이라고/라고 "
    "이라는/라는 이라도/라도 이라면/라면 이라서/라서 이란/란 이든/든 이든지/든지 이든가/든가 "
    "이야말로/야말로 이며/며 이에요/예요 이었/였 과는/와는 과도/와도 과의/와의"
)
_FORMS = {form: pair for pair in (pair.split("/") for pair in _PAIRS.split(" ")) for form in pair}
_OPEN = ("이었", "였", "이라고", "라고", "이라는", "라는", "이라도", "라도", "이라면", "라면")
"""Particles that further syllables may follow."""
_LONGEST = max(map(len, _FORMS))
_RIEUL = 8
"""ㄹ among the 27 final consonants that the code of a syllable counts through."""


def following_with_particle(noun: str, following: str) -> str:
    """Return the text after a noun, with the particle it starts with in the form that agrees.

    >>> agree = following_with_particle
    >>> agree("서버", "을 켠다"), agree("모델", "과의 차이"), agree("서버", "실에서"), agree("URL", "를")
    ('를 켠다', '과의 차이', '실에서', '를')

    Args:
        noun: a noun; after one that does not end in Hangul, nothing is changed.
        following: text directly after it; unchanged if it does not start with a particle.
    """
    last = unicodedata.normalize("NFC", noun)[-1:]
    if not "가" <= last <= "힣":
        return following
    final = (ord(last) - ord("가")) % 28
    for length in range(min(_LONGEST, len(following)), 0, -1):
        form, rest = following[:length], following[length:]
        if form in _FORMS and (form in _OPEN or not regex.match(r"\p{Hangul}", rest)):
            after_consonant, after_vowel = _FORMS[form]
            like_vowel = not final or (final == _RIEUL and after_consonant.startswith("으"))
            return (after_vowel if like_vowel else after_consonant) + rest
    return following
