"""Tatoeba's sentences and links."""

from pathlib import Path
from typing import Any

import pytest

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.text.corpus import check_sides, read_pairs

SENTENCES = "1\tdeu\tJa.\n2\teng\tYes.\n3\tfra\tOui.\n4\tdeu\tNein.\n5\teng\tNo.\n6\teng\tNope.\n7\t\\N\tx\n"
LINKS = "1\t2\n1\t3\n2\t1\n4\t5\n6\t4\n4\t99\n99\t98\n"
GERMAN_ENGLISH: dict[str, Any] = {"source_language": "deu", "target_language": "en"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sentences.csv").write_text(SENTENCES)
    (tmp_path / "links.csv").write_text(LINKS)
    return tmp_path


def pairs(folder: Path, *files: str, targets: tuple[str, ...] = (), **data: str) -> list[tuple[str, str]]:
    settings = DataSettings.model_validate({"dir": str(folder), **data})
    check_sides(settings, files, targets)
    return list(read_pairs(settings, files, targets))


def test_linked_sentences_of_two_languages_are_pairs_once(folder: Path) -> None:
    expected = [("Ja.", "Yes."), ("Nein.", "No."), ("Nein.", "Nope.")]
    assert pairs(folder, "sentences.csv", "links.csv", **GERMAN_ENGLISH) == expected
    assert pairs(folder, "sentences.csv", targets=("links.csv",), **GERMAN_ENGLISH) == expected
    backwards = pairs(folder, "links.csv", "sentences.csv", source_language="en", target_language="de")
    assert backwards == [(target, source) for source, target in expected]


def test_sentences_may_lie_in_a_file_a_language(folder: Path) -> None:
    for code in ("deu", "eng"):
        lines = [line for line in SENTENCES.splitlines(keepends=True) if f"\t{code}\t" in line]
        (folder / f"{code}_sentences.tsv").write_text("".join(lines))
    files = "deu_sentences.tsv", "eng_sentences.tsv", "links.csv"
    assert len(pairs(folder, *files, **GERMAN_ENGLISH)) == 3


def test_sentences_alone_are_refused_with_the_remedy(folder: Path) -> None:
    with pytest.raises(UserError, match=r"sentences of Tatoeba.*--src sentences.csv links.csv --src-lang"):
        pairs(folder, "sentences.csv", **GERMAN_ENGLISH)


def test_languages_must_be_named_and_occur(folder: Path) -> None:
    with pytest.raises(UserError, match="the two languages are not named"):
        pairs(folder, "sentences.csv", "links.csv")
    with pytest.raises(UserError, match=r"links.csv: no link between sentences of deu \(2\) and ita \(0\)"):
        pairs(folder, "sentences.csv", "links.csv", source_language="deu", target_language="ita")


@pytest.mark.parametrize(
    ("name", "line", "fact"), [("links.csv", "8\tx", "not two ids"), ("sentences.csv", "8\tdeu", "not an id")]
)
def test_a_malformed_line_is_named(folder: Path, name: str, line: str, fact: str) -> None:
    content = (folder / name).read_text() * 3
    (folder / name).write_text(f"{content}{line}\n")
    with pytest.raises(UserError, match=rf"{name}:22: {fact}"):
        pairs(folder, "sentences.csv", "links.csv", **GERMAN_ENGLISH)


def test_pairs_as_tatoeba_exports_them_are_read_without_their_ids(folder: Path) -> None:
    (folder / "pairs.tsv").write_text("1\tJa.\t2\tYes.\n4\tNein.\t5\tNo.\n")
    assert pairs(folder, "pairs.tsv") == [("Ja.", "Yes."), ("Nein.", "No.")]
