"""Sentences: the languages' rules on sentences by hand, and that no character is lost in any text.

``sentences/*.txt`` are the texts that the rules were written with, ``*.held.txt`` others, written afterwards
and measured once. A line is a text; "‖" stands at the end of a sentence that another follows. An ellipsis
ends a sentence only before a capital letter; a reporting clause ("she asked") belongs to what it reports.
"""

import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multihead.text.segmentation import Segments, adapt, split

FOLDER = Path(__file__).parent / "sentences"
LANGUAGES = ["en", "de", "fr", "ko", "ja", "zh"]
END = "‖"
HELD_OUT = {"en": 37, "de": 35, "fr": 35, "ko": 36, "ja": 36, "zh": 35}
"""Sentences found of those held out (38, 36, 37, 36, 36, 36)."""


def texts(name: str) -> list[list[str]]:
    """The texts of a file, each as its sentences with the space between them."""
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    return [line.split(END) for line in lines if line]


def places(text: str, sentences: list[str] | tuple[str, ...]) -> set[tuple[int, int]]:
    found, end = set(), 0
    for sentence in sentences:
        start = text.index(sentence, end)
        end = start + len(sentence)
        found.add((start, end))
    return found


def found_of(name: str, language: str) -> tuple[int, int]:
    """Return the number of a file's sentences that are found exactly, and of all."""
    right = total = 0
    for parts in texts(name):
        text = "".join(parts)
        wanted = places(text, [part.strip() for part in parts])
        right += len(wanted & places(text, split(text, language).sentences))
        total += len(wanted)
    return right, total


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_are_found_by_the_rules_of_the_language(language: str) -> None:
    right, total = found_of(language, language)
    assert total > 80
    assert right == total


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_that_no_rule_was_written_for_are_found_too(language: str) -> None:
    assert found_of(f"{language}.held", language) == (
        HELD_OUT[language],
        sum(map(len, texts(f"{language}.held"))),
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_whole_file_comes_apart_as_its_lines_do(language: str) -> None:
    lines = ["".join(parts) for parts in texts(language)]
    whole = split("\r\n".join(lines), language)
    assert list(whole.sentences) == [
        sentence for line in lines for sentence in split(line, language).sentences
    ]
    assert str(whole) == "\r\n".join(lines)


FRAGMENTS = (
    'Dr.| |\n|\r\n|\t|\u3000|\u00a0|\u2028|.|...|?!|。|」|「|"|“|„|»|a|B|Er|he said|という|나는|'
    "다.|3|2026|(|)|[1]|👋🏽|^^|\0|:)|♪"
)
pieces = st.sampled_from(FRAGMENTS.split("|"))


@given(text=st.lists(pieces, max_size=23).map("".join) | st.text(max_size=53))
@example("")
@example(" \n ")
@example("\n.\n")
@example("Ja.\x1cNein.\u0085Doch.\v")
def test_sentences_and_the_space_between_them_are_the_text(text: str) -> None:
    for language in ("", "de", "fr", "ko", "zh", "xx", "no such"):
        found = split(text, language)
        assert str(found) == text
        assert len(found.spaces) == len(found.sentences) + 1
        assert all(sentence and sentence == sentence.strip() for sentence in found.sentences)
        assert not any(space.strip() for space in found.spaces)
        assert not any("\n" in sentence for sentence in found.sentences)
        assert found.sentences == split(text, language).sentences


def test_space_between_sentences_follows_the_language_that_they_are_in() -> None:
    assert [adapt(space, "en") for space in ("", " ", "\n")] == [" ", " ", "\n"]
    assert [adapt(space, "ja") for space in ("", " ", "  ", "\n")] == ["", "", "  ", "\n"]
    assert [adapt(space, "") for space in ("", " ", "\u3000")] == ["", " ", "\u3000"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("यह एक घर है। वह एक पेड़ है।", 2),
        ("هل أنت بخير؟ نعم.", 2),
        ("یہ گھر ہے۔ وہ درخت ہے۔", 2),
        ("Սա տուն է։ Սա ծառ է։", 2),
        ("Это дом. Это дерево! А это?", 3),
        ("Αυτό είναι σπίτι. Αυτό είναι δέντρο.", 2),
        ("ይህ ቤት ነው። ያ ዛፍ ነው።", 2),
        ("i went home. it was late. really late!", 3),
        ("DR. SMITH LEFT. NOBODY SAW HIM.", 2),
        ("Sin duda. ¿Quién es? ¡No sé!", 3),
        ("Kom d.w.z. morgen. Dan is er tijd.", 2),
        ("Det var den 3. Maj. Vi kom.", 2),
        ("!!! Attention", 1),
        ("...", 1),
        ("Punkt . Komma", 2),
        ("See http://a.b/c. Then http://d.e/?f=G. Done.", 3),
    ],
)
def test_other_scripts_and_cases_are_split_by_common_rules(text: str, count: int) -> None:
    language = {"Kom": "nl", "Det": "da", "Sin": "es"}.get(text[:3], "")
    assert len(split(text, language).sentences) == count


def test_codes_are_read_in_whatever_form_they_come() -> None:
    assert {
        len(split("Am 3. Mai kam er.", code).sentences) for code in ("de", "DE", "deu", "ger", "de_AT")
    } == {1}
    assert len(split("Am 3. Mai kam er.", "en").sentences) == 2


UNITS = [
    ". ",
    ".",
    "a. ",
    "A.",
    '"“„',
    "?!",
    "«",
    "1. ",
    "2026. 1",
    "。",
    "「あ。」",
    "\n",
    " ",
    "👋 ",
    "ㅋ",
    "(a.) ",
    'a." ',
    "…",
    ":",
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("language", ["de", "ko"])
def test_a_hostile_text_takes_linear_time(unit: str, language: str) -> None:
    took = []
    for length in (5_003, 40_009):
        text = "„" + unit * (length // len(unit))
        start = time.process_time()
        assert str(split(text, language)) == text
        took.append(time.process_time() - start)
    assert took[1] < 25 * took[0] + 0.5


def test_segments_say_what_they_are() -> None:
    assert split(" Ja. Nein.") == Segments(("Ja.", "Nein."), (" ", " ", ""))
