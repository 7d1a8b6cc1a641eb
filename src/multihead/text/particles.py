"""Korean particles that agree with the last sound of the noun before them (Hangul Orthography; 조사).

은 follows a consonant and 는 a vowel, likewise 이/가, 을/를, 과/와; 로 follows a vowel or ㄹ, 으로 any other
consonant.

    >>> [noun + particle(noun, "으로/로") for noun in ("서버", "서울", "부산", "PC", "URL", "MP3", "5kg")]
    ['서버로', '서울로', '부산으로', 'PC로', 'URL로', 'MP3로', '5kg으로']
"""

import regex

from multihead.errors import UserError
from multihead.text.korean_sounds import final_sound
from multihead.text.loanwords import Final

_PAIRS = (
    "은/는 이/가 을/를 과/와 아/야 이여/여 이시여/시여 으로/로 으로서/로서 으로써/로써 으로부터/로부터 "
    "으로는/로는 으로도/로도 으로만/로만 으로의/로의 으론/론 이나/나 이나마/나마 이랑/랑 이라/라 "
    "이라고/라고 이라는/라는 이라도/라도 이라면/라면 이라서/라서 이란/란 이든/든 이든지/든지 "
    "이든가/든가 이야/야 이야말로/야말로 이며/며 이면/면 이고/고 이다/다 이니/니 이지만/지만 "
    "이에요/예요 이었/였 이요/요 과는/와는 과도/와도 과의/와의 이나요/나요"
)
_FORMS: dict[frozenset[str], tuple[str, str]] = {
    frozenset(pair.split("/")): (pair.split("/")[0], pair.split("/")[1]) for pair in _PAIRS.split(" ")
}
_AGREEING = {
    form: pair
    for pair in _FORMS.values()
    for form in pair
    if pair[0] not in ("아", "이야", "이라", "이고", "이다", "이니", "이면", "이요", "이지만", "이나요")
}
"""Particles that are recognised after a noun; the others are too ambiguous."""
_OPEN = ("이었", "였", "이라고", "라고", "이라는", "라는", "이라도", "라도", "이라면", "라면")
"""Particles that further syllables may follow."""
_LONGEST = max(map(len, _AGREEING))
_OPTIONAL = regex.compile(r"\((?P<extra>으|이)\)(?P<rest>\p{Hangul}+)")
_EITHER = regex.compile(r"\(?(?P<one>\p{Hangul}+)[/()]+(?P<other>\p{Hangul}+)\)?")


def particle(noun: str, pair: str) -> str:
    """Return the form of a particle that agrees with a noun.

    Args:
        noun: in Hangul, Latin letters (read as a loanword, or by letters if an abbreviation), digits with or
            without a unit; closing quotation marks and a remark in brackets after it do not count.
        pair: both forms, as "은/는", "은(는)" or "(으)로", in either order.

    Returns:
        the form; both, as "은(는)", if the last sound is unknown (Chinese characters).

    Raises:
        UserError: the pair is not a particle.
    """
    after_consonant, after_vowel = _forms(pair)
    match final_sound(noun):
        case None:
            common = after_consonant.removesuffix(after_vowel)
            optional = f"({common}){after_vowel}"
            return optional if common in ("으", "이") else f"{after_consonant}({after_vowel})"
        case Final.VOWEL:
            return after_vowel
        case Final.RIEUL if after_consonant.startswith("으"):
            return after_vowel
    return after_consonant


def following_with_particle(noun: str, following: str) -> str:
    """Return the text after a noun, with the particle it starts with in the form that agrees.

    >>> agree = following_with_particle
    >>> agree("서버", "을 켠다"), agree("모델", "과의 차이"), agree("서버", "실에서")
    ('를 켠다', '과의 차이', '실에서')

    Args:
        noun: as for ``particle``.
        following: text directly after it; unchanged if it does not start with a particle.
    """
    for length in range(min(_LONGEST, len(following)), 0, -1):
        form, rest = following[:length], following[length:]
        if form in _AGREEING and (form in _OPEN or not regex.match(r"\p{Hangul}", rest)):
            right = particle(noun, "/".join(_AGREEING[form]))
            return following if "(" in right else right + rest
    return following


def _forms(pair: str) -> tuple[str, str]:
    """Return a particle's forms after a consonant and after a vowel."""
    optional, either = _OPTIONAL.fullmatch(pair), _EITHER.fullmatch(pair)
    names = {pair}
    if optional:
        names = {optional["rest"], optional["extra"] + optional["rest"]}
    elif either:
        names = {either["one"], either["other"]}
    forms = _FORMS.get(frozenset(names))
    if forms is None:
        remedy = 'Write one such as "은/는" or "(으)로".'
        raise UserError(f'"{pair}" is not a pair of particles', remedy=remedy)
    return forms
