"""Casing learned from a corpus: usual spellings, sentences that lack capitals, damage refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.text import casing
from multihead.text.casing import NAME, Casing

SENTENCES = [
    "Der Hund steht auf der Straße.",
    "Auf der Straße steht ein Hund.",
    "Hunde schlafen.",
    "EIN HUND SCHLÄFT AUF DER STRASSE",  # a headline, in which no word has its own spelling
    "Ein McDonald steht da.",
    "123 !",
    "",
]


def test_a_sentence_in_capitals_gets_its_usual_spelling() -> None:
    found = Casing.learn(SENTENCES)
    assert found.usual("EIN HUND STEHT AUF DER STRASSE.", first=True) == "Ein Hund steht auf der Straße."
    assert found.usual("auf der straße, da steht mcdonald", first=True) == "Auf der Straße, da steht McDonald"
    assert found.usual(" DER HUND", first=True) == " der Hund"
    assert found.usual("DER HUND", first=False) == "der Hund"


def test_words_seen_only_at_the_beginning_keep_that_spelling() -> None:
    assert Casing.learn(SENTENCES).usual("zwei HUNDE", first=False) == "zwei Hunde"


def test_capitals_are_lacked_only_where_the_corpus_has_them() -> None:
    written = Casing.learn(SENTENCES)
    assert written.lacks_capitals("ein hund steht da.")
    assert not written.lacks_capitals("Ein hund steht da.")
    assert not written.lacks_capitals("ein hund.")  # too short to tell
    lower = Casing.learn(map(str.lower, SENTENCES))
    assert not lower.lacks_capitals("ein hund steht da.")
    assert lower.usual("EIN HUND", first=False) == "ein hund"
    assert not Casing.learn(["개가 거리에 서 있다."] * 7).lacks_capitals("개가 거리에 서 있다.")
    assert not Casing().lacks_capitals("ein hund steht da.")


def test_a_corpus_in_capitals_is_left_as_it_is() -> None:
    phonemes = Casing.learn(["HH AH0 L OW1 W", "IH0 NG TH DH", "DH AE1 TH IH0 ZH"] * 5)
    assert not phonemes.has_only_capitals("HH AE1 TH AH0 L ER1")
    written = Casing.learn([*SENTENCES, *["Der Hund schläft da."] * 90])
    assert written.has_only_capitals("DER HUND SCHLÄFT")
    assert Casing().has_only_capitals("DER HUND SCHLÄFT")  # a run of an earlier version
    assert not Casing().has_only_capitals("USA, EU")


@given(st.lists(st.text(max_size=23), max_size=11), st.text(max_size=23))
def test_any_text_keeps_its_letters(sentences: list[str], text: str) -> None:
    written = Casing.learn(sentences).usual(text, first=True)
    assert written.casefold().upper() == text.casefold().upper() or written.upper() == text.upper()


def test_only_the_most_frequent_words_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(casing, "MOST", 1)
    found = Casing.learn(SENTENCES)
    assert len(json.loads(found.to_json())["forms"]) == 1
    assert found.usual("HUND", first=False) == "Hund"


def test_a_stored_casing_is_the_same(tmp_path: Path) -> None:
    found = Casing.learn(SENTENCES)
    (tmp_path / NAME).write_text(found.to_json(), encoding="utf-8")
    again = Casing.load(tmp_path)
    assert again.to_json() == found.to_json()
    assert Casing.load(tmp_path / "elsewhere").to_json() == Casing().to_json()


@pytest.mark.parametrize("change", [
    {"format": 2}, {"plain": 1.5}, {"capitals": -1}, {"forms": ["HUND"]},
    {"forms": {"HUND": "Katze"}}, {"forms": {"HUND": 1}},
])  # fmt: skip
def test_a_damaged_casing_is_refused_with_its_place(tmp_path: Path, change: dict[str, object]) -> None:
    content = {**json.loads(Casing.learn(SENTENCES).to_json()), **change}
    (tmp_path / NAME).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UserError, match=r"casing\.json"):
        Casing.load(tmp_path)
