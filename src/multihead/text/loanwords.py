"""The last sound of a word in Latin letters as Korean readers say it.

By the orthography of loanwords (외래어 표기법, chapter 3, section 1, English) a final p, t or k is a final
consonant after a short vowel only; b, d, g and fricatives get the vowel 으; m, n and ng are final consonants,
l is ㄹ, r a vowel. Spelling is not pronunciation: words whose spelling misleads are listed. Abbreviations are
read by letters.
"""

import unicodedata
from enum import Enum

import regex


class Final(Enum):
    """The last sound of a word."""

    VOWEL = "vowel"
    RIEUL = "ㄹ"
    CONSONANT = "consonant"


def readings(text: str) -> dict[str, str]:
    """Parse "name reading, name reading" into readings by name."""
    return dict(entry.split() for entry in text.split(","))


_VOWELS = "aeiou"
_LETTERS = {"l": Final.RIEUL, "r": Final.RIEUL, "m": Final.CONSONANT, "n": Final.CONSONANT}
"""Names of letters that do not end in a vowel: 엘, 알, 엠, 엔."""
_SPELT = 5
"""Words in capitals of at most this many letters are abbreviations."""

_READINGS = """
adobe 어도비, aids 에이즈, anime 애니메, antique 앤티크, apec 에이펙, asean 아세안, bag 백, ballet 발레,
big 빅, bit 비트, bob 밥, bordeaux 보르도, boutique 부티크, buffet 뷔페, cab 캡, cafe 카페,
captcha 캡차, check 체크, chic 시크, club 클럽, credit 크레디트, debut 데뷔, depot 디포, diet 다이어트,
edit 에디트, fifa 피파, foot 풋, good 굿, group 그룹, hadoop 하둡, heap 힙, hit 히트, ikea 이케아,
imap 아이맵, jeep 지프, job 잡, jpeg 제이펙, json 제이슨, karaoke 가라오케, kit 키트, lab 랩, lan 랜,
laser 레이저, lego 레고, lidar 라이다, mers 메르스, moma 모마, nasa 나사, nato 나토, nike 나이키,
opec 오펙, peugeot 푸조, pin 핀, porsche 포르쉐, pub 펍, radar 레이더, ram 램, recipe 레시피,
renault 르노, rib 립, rom 롬, sars 사스, scuba 스쿠버, set 세트, sim 심, sonar 소나, suit 슈트,
swot 스왓, tab 탭, technique 테크닉, toefl 토플, toeic 토익, type 타입, uefa 유에파, unesco 유네스코,
unicef 유니세프, watt 와트, web 웹, yaml 야믈, zip 집
"""
_KNOWN = readings(_READINGS)

_CAMEL = regex.compile(r"\p{Lu}?\p{Ll}++\Z")
_CAPITALS = regex.compile(r"\p{Lu}{2,}+s?\Z")


def of_hangul(syllable: str) -> Final:
    """Return the last sound of a syllable of Hangul, whose code counts through 27 final consonants."""
    final = (ord(syllable) - ord("가")) % 28
    return Final.VOWEL if final == 0 else Final.RIEUL if final == 8 else Final.CONSONANT


def of_latin(word: str) -> Final:
    """Return the last sound of a word in Latin letters, at least one."""
    plain = "".join(letter for letter in unicodedata.normalize("NFD", word) if letter.isalpha())
    small = plain.lower()
    camel = _CAMEL.search(plain)
    for name in (small, camel[0].lower() if camel else small):
        if name in _KNOWN:
            return of_hangul(_KNOWN[name][-1])
    capitals = _CAPITALS.search(plain)
    if capitals and capitals[0].endswith("s"):
        return Final.VOWEL
    mixed = capitals and capitals.start() > 0
    if mixed or (plain.isupper() and len(plain) <= _SPELT) or set("aeiouy").isdisjoint(small):
        return _LETTERS.get(small[-1], Final.VOWEL)
    return _by_spelling(small)


def _by_spelling(word: str) -> Final:
    if len(word) > 2 and word[-1] == "e" and word[-2] not in _VOWELS:  # mute
        return {"l": Final.RIEUL, "m": Final.CONSONANT, "n": Final.CONSONANT}.get(word[-2], Final.VOWEL)
    if word[-1] == "l":
        return Final.RIEUL
    if word[-1] in "mn" or word.endswith(("ng", "mb")):
        return Final.CONSONANT
    if word[-1] not in "ptkc":
        return Final.VOWEL
    if word.endswith(("ck", "pp", "tt", "ook", "out", "uit")):
        return Final.CONSONANT
    short = word[-2:-1] in _VOWELS and word[-3:-2] not in tuple(_VOWELS)
    return Final.CONSONANT if short else Final.VOWEL
