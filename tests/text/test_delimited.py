"""Tables: what separates cells, quotes, rows over several lines, broken rows, and what is said of columns."""

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.text.corpus import read_pairs, remarks
from multihead.text.delimited import read_table, rows_of
from multihead.text.separators import SAMPLED, SEPARATORS

CELLS = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=7)


def rows(text: str, kind: str = "csv") -> list[tuple[int, list[str]]]:
    return list(rows_of(iter(text.split("\n")), "a", kind))


@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=11),
    st.sampled_from(SEPARATORS),
)
def test_what_a_spreadsheet_writes_is_read_back(table: list[list[str]], delimiter: str) -> None:
    """The writer is Python's own; every cell is quoted, so that nothing else can separate them."""
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    lines = written.getvalue().removesuffix("\n").split("\n")
    found = [cells for _, cells in rows_of(iter(lines), "a", "csv")]
    expected = [[cell.strip("\n").replace("\n", " ") for cell in row] for row in table]
    assert found == [row if any(cell.strip() for cell in row) else [] for row in expected]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("de,en\nGuten Tag,Hello", ["de", "en"]),
        ("Guten Tag, du;Good day, you\nJa;Yes", ["Guten Tag, du", "Good day, you"]),
        ("de;en\nGuten Tag, du;Good day, you", ["de", "en"]),
        ("a\tb\nc, d\te", ["a", "b"]),
        ('"a;b","c"\n"d","e"', ["a;b", "c"]),
        ("one cell\nanother", ["one cell"]),
        ("", []),
    ],
)
def test_the_separator_is_the_one_that_makes_regular_rows(text: str, first: list[str]) -> None:
    assert rows(text)[0][1] == first


def test_rows_over_several_lines_have_the_number_of_their_first() -> None:
    found = rows('a,b\n"c\nd",e\n\n ,\nf,g')
    assert found == [(1, ["a", "b"]), (2, ["c d", "e"]), (4, []), (5, []), (6, ["f", "g"])]


@pytest.mark.parametrize(
    ("row", "fact"),
    [
        ("Hello, dear,Hallo", "3 cells between"),
        ("alone", "1 cells between"),
        ('"a" b,c', "not a row of CSV"),
        ('"never closed,b', "not a row of CSV"),
        ("a," + "b" * 200_003, "not a row of CSV"),
    ],
)
def test_a_broken_row_is_refused_with_its_line(row: str, fact: str) -> None:
    good = "a,b\n" * (SAMPLED + 3)
    with pytest.raises(UserError, match=rf"^a:{SAMPLED + 4}: {fact}"):
        rows(good + row + "\nc,d")


def test_the_kind_is_told_by_the_name(tmp_path: Path) -> None:
    for name, cells in (("a.csv", ['b"c', "d"]), ("a.tsv", ['"b""c",d']), ("a", ['"b""c",d'])):
        (tmp_path / name).write_text('"b""c",d\n')
        assert list(read_table(str(tmp_path / name))) == [(1, cells)]
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(UserError, match="the file is empty"):
        list(read_table(str(tmp_path / "a.csv")))


def test_a_corpus_may_be_csv(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,en,de\n1,"Yes, ""really""",Ja\n\n2,No,"Nein\nnein"\n')
    data = DataSettings(dir=str(tmp_path), source_field="de", target_field="en")
    assert list(read_pairs(data, ["a.csv"], [])) == [("Ja", 'Yes, "really"'), ("", ""), ("Nein nein", "No")]
    by_number = data.model_copy(update={"source_field": "2", "target_field": "3"})
    assert next(iter(read_pairs(by_number, ["a.csv"], []))) == ("en", "de")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("de,en\na,b\n", "columns de and en are read, by its header"),
        ("German,영어\na,b\n", "columns German and 영어 are read, by its header"),
        ("id,source,target\n1,a,b\n", "columns source and target are read, by its header"),
        ("a b,c d,e f\n1,a,b\n", "has 3 columns; 1 and 2 are read"),
        ("Hund,dog\na,b\n", ""),
        ("only one\nx\n", ""),
    ],
)
def test_columns_that_are_guessed_are_said(tmp_path: Path, text: str, said: str) -> None:
    for name, content in (("a.csv", text), ("a.tsv", text.replace(",", "\t"))):
        (tmp_path / name).write_text(content)
        found = list(remarks(DataSettings(dir=str(tmp_path)), [name]))
        assert len(found) == bool(said)
        assert re.search(said, "".join(found))
        named = DataSettings(dir=str(tmp_path), source_field="2", target_field="1")
        assert list(remarks(named, [name])) == []


def test_files_without_columns_have_no_remarks(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_text("de\ten\n")
    assert list(remarks(DataSettings(dir=str(tmp_path)), ["a.de", "-", "missing.tsv"])) == []


@pytest.mark.parametrize(
    ("header", "languages", "expected"),
    [
        ("de,en", ("", ""), "ab"),
        ("de,en", ("en", "de"), "ba"),
        ("German,English", ("en", ""), "ba"),
        ("trg,src", ("", ""), "ba"),
        ("id,de,en,note", ("de", "en"), "bc"),
        (",de,fr,en", ("fr", "de"), "cb"),
        ("Hund,dog", ("de", "en"), None),
    ],
)
def test_a_header_and_the_languages_decide_on_the_columns(
    tmp_path: Path, header: str, languages: tuple[str, str], expected: str | None
) -> None:
    data = DataSettings(dir=str(tmp_path), source_language=languages[0], target_language=languages[1])
    (tmp_path / "a.csv").write_text(
        f"{header}\na,b,c,d\n".replace("a,b,c,d", "a,b,c,d"[: 2 * header.count(",") + 1])
    )
    first = ("a", "b") if expected is None else (expected[0], expected[1])
    found = list(read_pairs(data, ["a.csv"], []))
    assert found[-1] == first
    assert len(found) == (2 if expected is None else 1)


def test_a_header_that_leaves_the_choice_open_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("de,en,fr\nGuten Tag,Good day,Bonjour\n")
    with pytest.raises(
        UserError, match=r"a\.csv:1: two sides are not clear among its columns \(de, en, fr\)"
    ):
        list(read_pairs(DataSettings(dir=str(tmp_path)), ["a.csv"], []))


def test_words_that_are_codes_of_languages_are_not_a_header(tmp_path: Path) -> None:
    words = "is\tas\nde\ten\nam\tan\nja\tya\n"
    (tmp_path / "a.tsv").write_text(words)
    assert len(list(read_pairs(DataSettings(dir=str(tmp_path)), ["a.tsv"], []))) == 4


def test_tsv_that_pandas_quoted_is_read_without_quotes(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('\tde\ten\n0\t"ja ""so""\nda"\tyes\n1\tnein\tno\n')
    data = DataSettings(dir=str(tmp_path))
    assert list(read_pairs(data, ["a.tsv"], [])) == [('ja "so" da', "yes"), ("nein", "no")]
    (tmp_path / "a.tsv").write_text('"ja"\t"yes"\n"so ""x"\tno "x"\n')
    assert list(read_pairs(data, ["a.tsv"], [])) == [('"ja"', '"yes"'), ('"so ""x"', 'no "x"')]
