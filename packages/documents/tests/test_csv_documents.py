"""Tables of values (.csv, .tsv): cells of named columns are translated, all else is kept."""

import csv
import io
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead_documents import Document, open_document
from multihead_documents.csv_table import CsvTable
from multihead_documents.errors import DocumentError
from multihead_documents.reading import Text, decode

TABLE = (
    'id;name;Preis\r\n1;Ein Hund;3,5\r\n2;"Drei; vier";4\r\n3;;5\r\n\r\n4;" sechs ""sieben"" ";x\r\n5;12;y'
)


def opened(tmp_path: Path, content: str, *columns: str, name: str = "a.csv") -> Document:
    (tmp_path / name).write_bytes(content.encode())
    return open_document(tmp_path / name, columns=columns)


def in_memory(content: str, name: str, *columns: str) -> CsvTable:
    data = content.encode()
    text: Text = decode(data, Path(name), None)
    return CsvTable(Path(name), text, columns)


def test_cells_of_a_column_are_segments(tmp_path: Path) -> None:
    document = opened(tmp_path, TABLE, "name")
    assert [one.source.text for one in document.segments] == ["Ein Hund", "Drei; vier", 'sechs "sieben"']
    assert document.segments[1].place == f"{tmp_path / 'a.csv'}:3, column 2"
    assert document.render({}) == TABLE.encode()
    changed = document.render({0: "A; dog", 1: "Three", 2: '"six"\nseven'}).decode()
    assert changed == TABLE.replace("Ein Hund", '"A; dog"').replace("Drei; vier", "Three").replace(
        ' sechs ""sieben"" ', ' ""six"" seven '
    )


def test_a_table_without_names_has_numbers(tmp_path: Path) -> None:
    document = opened(tmp_path, "eins,zwei\ndrei,vier\n", "2", "1")
    assert [one.source.text for one in document.segments] == ["eins", "zwei", "drei", "vier"]


def test_tabs_separate_and_quotes_are_quotes(tmp_path: Path) -> None:
    content = 'a\tb\n"Ein" Hund\tx\n"ganz"\ty\n"offen\tz\n'
    document = opened(tmp_path, content, "a", name="a.tsv")
    assert [one.source.text for one in document.segments] == ['"Ein" Hund', "ganz", '"offen']
    changed = document.render({0: "a\tdog", 1: 'all "of" it'}).decode()
    assert changed == content.replace('"Ein" Hund', "a dog").replace('"ganz"', '"all ""of"" it"')


@pytest.mark.parametrize("start", ["\ufeff", "sep=|\r\n", "\ufeffsep=|\n"])
def test_a_byte_order_mark_and_excel_s_first_line_are_kept(start: str, tmp_path: Path) -> None:
    mark = "|" if "|" in start else ","
    content = f"{start}name{mark}b\nEin{mark}x\n"
    document = opened(tmp_path, content, "name")
    assert [one.source.text for one in document.segments] == ["Ein"]
    assert document.render({0: "a|b"}).decode() == content.replace("Ein", '"a|b"' if mark == "|" else "a|b")


CELLS = st.text(
    st.characters(blacklist_categories=("Cs", "Cc")) | st.sampled_from(['"', ",", ";", "a"]), max_size=6
)


@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=5),
    targets=st.lists(CELLS.filter(lambda text: text.strip()), min_size=5, max_size=5),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_any_translation_is_read_again_by_another_reader(
    rows: list[tuple[str, str, str]], targets: list[str], quoting: int, end: str
) -> None:
    written = io.StringIO()
    csv.writer(written, quoting=quoting, lineterminator=end).writerows([("x", "text", "y"), *rows])  # type: ignore[arg-type]
    document = in_memory(f"sep=,{end}{written.getvalue()}", "a.csv", "text")
    read = [row[1] for row in rows if any(map(str.isalpha, row[1]))]
    assert [one.source.text for one in document.segments] == [" ".join(text.split()) for text in read]
    translations = {number: " ".join(targets[number].split()) for number in range(len(read))}
    rendered = document.render(translations).decode()
    again = list(csv.reader(io.StringIO(rendered.removeprefix(f"sep=,{end}"), newline="")))
    wanted = iter(translations.values())
    expected = [[row[0], next(wanted) if any(map(str.isalpha, row[1])) else row[1], row[2]] for row in rows]
    assert [[a, " ".join(b.split()), c] for a, b, c in again[1:]] == [
        [a, " ".join(b.split()), c] for a, b, c in expected
    ]


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        (TABLE, (), "which columns are text, a table does not say"),
        (TABLE, (), "The first row has: id, name, Preis."),
        (TABLE, ("Name",), 'no columns are called "Name"'),
        (TABLE, ("4",), 'no columns are called "4"'),
        (TABLE, ("0",), 'no columns are called "0"'),
        ("a,a\nb,c\n", ("a",), '2 columns are called "a"'),
        ('a,b\n"eins,x\n', ("a",), ":2: a quote without its end"),
        ('a,b\n"eins"zwei,x\n', ("a",), ":2: a quote without its end"),
        ("a,b\neins,x,y\n", ("a",), ':2: 3 cells between ","'),
        ("a,b\neins,x\nzwei\n", ("b",), ':3: 1 cells between ","'),
        ("", ("a",), "the file is empty"),
        (",".join(map(str, range(20))), (), "10, 11, ..."),
    ],
)
def test_what_cannot_be_read_is_refused(
    content: str, columns: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DocumentError) as raised:
        opened(tmp_path, content, *columns)
    assert message in str(raised.value)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_hostile_tables_take_linear_time(name: str) -> None:
    start = time.perf_counter()
    for content in ('"' * 300_001, '"a\t' * 100_000, "a,b\n" * 100_000, '""' * 150_000 + '"x'):
        with suppress(DocumentError):
            in_memory(content, name, "1")
    assert time.perf_counter() - start < 20
