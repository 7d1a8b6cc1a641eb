"""Korean particles agree with nouns in Hangul: 300 nouns in 10 templates, and cases by hand.

What is expected follows from Unicode's decomposition, not from the code of the syllable.
"""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multihead.text.particles import following_with_particle

NOUNS = (Path(__file__).parent / "nouns.ko.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
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


def expected(noun: str, pair: str) -> str:
    after_consonant, after_vowel = pair.split("/")
    last = unicodedata.normalize("NFD", noun)[-1]
    is_consonant = "\u11a8" <= last <= "\u11c2"
    if not is_consonant or (last == "\u11af" and after_consonant.startswith("으")):
        return after_vowel
    return after_consonant


def test_particles_agree_with_nouns_in_hangul() -> None:
    assert len(NOUNS) == 300
    for noun in NOUNS:
        for pair, template in TEMPLATES.items():
            agreed = template.format(expected(noun, pair))
            for form in pair.split("/"):
                assert following_with_particle(noun, template.format(form)) == agreed


def test_a_wrong_particle_would_be_seen() -> None:
    assert [expected(reading, "으로/로") for reading in ("서울", "부산", "제주")] == ["로", "으로", "로"]
    assert [expected(reading, "을/를") for reading in ("서울", "부산", "제주")] == ["을", "을", "를"]


@pytest.mark.parametrize(
    ("noun", "following", "wanted"),
    [
        ("서버", "을 켠다", "를 켠다"),
        ("모델", "를 켠다", "을 켠다"),
        ("서버", "은", "는"),
        ("API", "이, 곧", "이, 곧"),
        ("서울", "으로 간다", "로 간다"),
        (unicodedata.normalize("NFD", "서울"), "으로 간다", "로 간다"),
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


@pytest.mark.parametrize(
    ("noun", "following", "wanted"),
    [
        ("MP3", "을 연다", "를 연다"),
        ("3.13", "를", "을"),
        ("10", "는", "은"),
        ("12", "은", "는"),
        ("7", "으로", "로"),
        ("URL", "으로", "로"),
        ("JSON", "를", "을"),
        ("SSH", "을", "를"),
        ("set", "를", "을"),
        ("float", "을", "를"),
        ("Table", "으로 간다", "로 간다"),
        ("print()", "은", "는"),
        ("<name>", "를", "을"),
        ("--", "를", "를"),
        ("東京", "을", "을"),
    ],
)
def test_a_particle_behind_a_carried_name_follows_its_usual_reading(
    noun: str, following: str, wanted: str
) -> None:
    assert following_with_particle(noun, following, latin=True) == wanted
    assert following_with_particle(noun, following) == following


@given(
    noun=st.text(max_size=23) | st.sampled_from(NOUNS),
    following=st.text("을를은는이가과와으로 abc", max_size=5),
)
@example("", "은")
def test_any_text_may_be_a_noun(noun: str, following: str) -> None:
    again = following_with_particle(noun, following)
    assert following_with_particle(noun, again) == again
