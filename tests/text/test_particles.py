"""Korean particles agree with the last sound of the noun: 577 nouns in 10 templates, and hard cases by hand.

``nouns.ko.tsv`` has a noun and, as a reader says it, its end in Hangul; of Hangul itself the noun again. What
is expected follows from that reading by Unicode's decomposition, not by the code of the syllable.
"""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.text.korean_sounds import final_sound
from multihead.text.particles import following_with_particle, particle

LINES = (Path(__file__).parent / "nouns.ko.tsv").read_text(encoding="utf-8").removesuffix("\n").split("\n")
NOUNS = [(noun, reading) for noun, reading in (line.split("\t") for line in LINES)]
TEMPLATES = {
    "은/는": "{} 새것이다.",
    "이/가": "{} 좋다.",
    "을/를": "{} 보았다.",
    "과/와": "{} 나의 이야기",
    "으로/로": "{} 갔다.",
    "이나/나": "{} 다른 것",
    "이랑/랑": "{} 함께",
    "이라고/라고": "{} 한다.",
    "으로부터/로부터": "{} 왔다.",
    "이에요/예요": "{}.",
}


def expected(reading: str, pair: str) -> str:
    after_consonant, after_vowel = pair.split("/")
    last = unicodedata.normalize("NFD", reading)[-1]
    is_consonant = "\u11a8" <= last <= "\u11c2"
    if not is_consonant or (last == "\u11af" and after_consonant.startswith("으")):
        return after_vowel
    return after_consonant


@pytest.mark.parametrize("script", ["Hangul", "other"])
def test_particles_agree_with_nouns_of_every_script(script: str) -> None:
    nouns = [(noun, reading) for noun, reading in NOUNS if (noun == reading) == (script == "Hangul")]
    assert len(nouns) > 270
    right = 0
    for noun, reading in nouns:
        for pair, template in TEMPLATES.items():
            wanted = template.format(noun + expected(reading, pair))
            right += template.format(noun + particle(noun, pair)) == wanted
    assert right >= 0.98 * len(nouns) * len(TEMPLATES)
    assert script == "other" or right == len(nouns) * len(TEMPLATES)


def test_a_wrong_particle_would_be_seen() -> None:
    assert [expected(reading, "으로/로") for reading in ("서울", "부산", "제주")] == ["로", "으로", "로"]
    assert [expected(reading, "을/를") for reading in ("서울", "부산", "제주")] == ["을", "을", "를"]


HARD = {
    "서버": "를로",
    '"책"': "을으로",
    "‘글’": "을로",
    "서버(server)": "를로",
    "모델 (model)": "을로",
    "(주)": "를로",
    "여덟": "을으로",
    "삶": "을으로",
    "ㄱ": "을으로",
    "ㄹ": "을로",
    "ㅏ": "를로",
    "1,000": "을으로",
    "10,000,000,000,000": "를로",
    "1.10": "을으로",
    "3.1": "을로",
    "12:00": "를로",
    "2026-11-24": "을로",
    "1/2": "을로",
    "½": "을로",
    "3/4": "을으로",
    "$5": "를로",
    "₩5": "을으로",
    "5 km/h": "를로",
    "5 kg": "을으로",
    "-5 °C": "를로",
    "①": "을로",
    "Ⅲ": "을으로",
    "２０": "을으로",
    "ＵＲＬ": "을로",
    "MP3": "를로",
    "B12": "를로",
    "5G": "를로",
    "macOS": "를로",
    "MySQL": "을로",
    "PCs": "를로",
    "html": "을로",
    "npm": "을으로",
    "x": "를로",
    "R": "을로",
    "Café": "를로",
    "PlayStation": "을으로",
    "WhatsApp": "을으로",
    "SAMSUNG": "을으로",
    "JavaScript": "를로",
    "Москва": "를로",
    "Иван": "을으로",
    "こんにちは": "를로",
    "ラーメン": "을으로",
    unicodedata.normalize("NFD", "서울"): "을로",
}


@pytest.mark.parametrize("noun", HARD)
def test_hard_nouns_are_read_as_people_read_them(noun: str) -> None:
    object_, direction = HARD[noun][0], HARD[noun][1:]
    assert (particle(noun, "을/를"), particle(noun, "으로/로")) == (object_, direction)


@pytest.mark.parametrize("noun", ["東京", "👋", "", "...", " ", "()", "ไทย"])
def test_a_noun_whose_reading_is_not_known_gets_both_forms(noun: str) -> None:
    assert final_sound(noun) is None
    found = [particle(noun, pair) for pair in ("은/는", "을/를", "으로/로", "이나/나", "이었/였", "과/와")]
    assert found == ["은(는)", "을(를)", "(으)로", "(이)나", "이었(였)", "과(와)"]


@pytest.mark.parametrize("pair", ["은/는", "는/은", "은(는)", "는(은)", "(은)는"])
def test_a_pair_may_be_written_in_any_way(pair: str) -> None:
    assert (particle("책", pair), particle("서버", pair)) == ("은", "는")
    assert particle("부산", "(으)로") == "으로"
    assert particle("학교", "(이)랑") == "랑"


@pytest.mark.parametrize("pair", ["은", "는/는", "의/의", "", "은/를", "abc"])
def test_what_is_no_pair_is_refused(pair: str) -> None:
    with pytest.raises(UserError, match=r'is not a pair of particles\. Write one such as "은/는"'):
        particle("책", pair)


@pytest.mark.parametrize(
    ("noun", "following", "wanted"),
    [
        ("서버", "을 켠다", "를 켠다"),
        ("모델", "를 켠다", "을 켠다"),
        ("서버", "은", "는"),
        ("API", "이, 곧", "가, 곧"),
        ("URL", "으로 간다", "로 간다"),
        ("부산", "로부터", "으로부터"),
        ("서버", "과의 차이", "와의 차이"),
        ("서버", "이라고는 하지만", "라고는 하지만"),
        ("책", "였다", "이었다"),
        ("서버", "가 좋다", "가 좋다"),
        ("서버", "실에서", "실에서"),
        ("서버", "은행", "은행"),
        ("서버", "에서", "에서"),
        ("서버", "들이", "들이"),
        ("서버", " 을", " 을"),
        ("東京", "을 본다", "을 본다"),
        ("서버", "", ""),
    ],
)
def test_a_particle_behind_another_noun_is_made_to_agree(noun: str, following: str, wanted: str) -> None:
    assert following_with_particle(noun, following) == wanted


@given(noun=st.text(max_size=23), following=st.text("을를은는이가과와으로 abc", max_size=5))
@example("((((", ")")
@example("5" * 211 + "(" * 211, "은")
def test_any_text_may_be_a_noun(noun: str, following: str) -> None:
    assert particle(noun, "은/는") in ("은", "는", "은(는)")
    assert particle(noun, "으로/로") in ("으로", "로", "(으)로")
    again = following_with_particle(noun, following)
    assert following_with_particle(noun, again) == again
