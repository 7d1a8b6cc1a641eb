"""Typing errors, read as the words of the training."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.data.noising import misspelt
from multihead.errors import UserError
from multihead.text import spelling
from multihead.text.spelling import NAME, Spelling

GERMAN = ["Der Hund läuft über die Wiese.", "Ein Kind spielt, und die Frau läuft."] * 20
ENGLISH = ["A dog runs over the grass.", "The child plays and the woman runs."] * 20


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Der Hnud läuft.", "Der Hund läuft."),  # swapped
        ("Der Hun läuft.", "Der Hund läuft."),  # left out
        ("Der Hundd läuuft.", "Der Hund läuft."),  # doubled
        ("Dre Hund", "Der Hund"),  # the first word keeps its capital
        ("die wiese", "die wiese"),  # known in lower case
        ("die wisee", "die Wiese"),
        ("Der HNUD läuft.", "Der HNUD läuft."),  # an abbreviation
        ("Der Elefant läuft.", "Der Elefant läuft."),  # too far from everything
        ("u die", "u die"),
        ("Hnud3 hnud_a hnud's Hnud-Wiese a@hnud hnud.de", "Hnud3 hnud_a hnud's Hnud-Wiese a@hnud hnud.de"),
        ("Der Hnud.", "Der Hund."),
        ("", ""),
    ],
)
def test_an_unknown_word_is_read_as_its_neighbour(written: str, read: str) -> None:
    found = Spelling.learn(GERMAN).correct_words(written, first=True)
    assert found.text == read
    assert (found.words == ()) == (written == read)


def test_a_name_is_never_corrected_where_capitals_mark_names() -> None:
    english = Spelling.learn(ENGLISH)
    assert english.correct_words("The Dgo and the dgo.", first=True).text == "The Dgo and the dog."
    assert Spelling.learn(GERMAN).correct_words("Der Kidn", first=True).text == "Der Kind"
    assert english.correct_words("Teh dog", first=False).text == "Teh dog"


def test_the_more_frequent_of_two_neighbours_is_taken() -> None:
    made = Spelling({"haus": 3, "maus": 7, "laus": 7, "raus": 1})
    assert made.correct_words("aus", first=False).text == "laus"  # of equal counts the first in the alphabet
    assert Spelling({"raus": 1}).correct_words("aus", first=False).words == ()


@pytest.mark.parametrize(
    "sentences",
    [
        [],
        ["1 2 3"],
        # Single words, as for their pronunciation: some are listed twice, and a new one is near to one.
        [f"{a}{b}{c}{d}" for a in "bdfg" for b in "aeiou" for c in "klmnr" for d in ("", "s", "s")],
        [
            "".join(chr(0xAC00 + 31 * n + k) for k in range(3)) + " 하나 하나" for n in range(170)
        ],  # no alphabet
    ],
    ids=["none", "no words", "nothing but new words", "syllables"],
)
def test_nothing_is_corrected_where_right_words_would_be(sentences: list[str]) -> None:
    assert not Spelling.learn(sentences).counts


def test_the_risk_is_that_of_rare_words_with_frequent_neighbours() -> None:
    # Every inflection occurs once beside a frequent form: new words are as likely to be right.
    risky = ["rot rot blau blau"] * 10 + ["rots blaus rott blaub"]
    assert not Spelling.learn(risky).counts
    assert Spelling.learn([*risky, *["rot blau"] * 600]).counts


def test_most_typing_errors_are_corrected() -> None:
    chance = random.Random(5)
    made = Spelling.learn(GERMAN)
    written = [misspelt(line, 0.05, chance) for line in GERMAN]
    wrong = [line for line in written if line not in GERMAN]
    right = sum(made.correct_words(line, first=True).text in GERMAN for line in wrong)
    assert len(wrong) > 20
    assert right / len(wrong) > 0.7


@given(st.text(max_size=40))
def test_whatever_is_not_read_as_something_else_stays(text: str) -> None:
    found = Spelling.learn(GERMAN).correct_words(text, first=True)
    for _, read in found.words:
        assert read in found.text
    assert found.words or found.text == text


def test_a_stored_spelling_is_the_same(tmp_path: Path) -> None:
    made = Spelling.learn(GERMAN)
    (tmp_path / NAME).write_text(made.to_json(), encoding="utf-8")
    found = Spelling.load(tmp_path)
    assert (found.counts, found.names) == (made.counts, made.names)
    assert Spelling.learn(reversed(GERMAN)).to_json() == made.to_json()
    assert Spelling.load(tmp_path / "nowhere").correct_words("Hnud", first=True).words == ()


def test_only_the_most_frequent_words_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "MOST", 2)
    assert len(Spelling.learn(GERMAN).counts) <= 2


@pytest.mark.parametrize(
    "change",
    [{"format": 9}, {"words": ["Hund"]}, {"words": {"Hund": 0}}, {"words": {"a b": 3}}, {"names": 1}],
)
def test_a_damaged_spelling_is_refused_with_its_place(tmp_path: Path, change: dict[str, object]) -> None:
    content = json.loads(Spelling.learn(GERMAN).to_json()) | change
    (tmp_path / NAME).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UserError, match=r"spelling\.json"):
        Spelling.load(tmp_path)
