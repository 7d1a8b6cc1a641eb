"""Readers of texts, one a line or in columns of a TSV or CSV file, and of their labels."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from multihead.errors import UserError
from multihead.text.delimited import Row, read_table, rows_of
from multihead.text.lines import read_lines


class Example(NamedTuple):
    """A text, its label ("" if none was requested), its place (file and line), and the second of a pair."""

    text: str
    label: str
    place: str
    second: str = ""


def read_texts(path: Path, text_field: str, encoding: str = "utf-8") -> Iterator[Example]:
    """Yield the texts of a column if the header of a TSV or CSV file has it, else the lines of the file.

    Raises:
        UserError: the file is missing, unreadable or damaged, or a row lacks the column.
    """
    lines = read_lines(str(path), encoding)
    first = next(lines, None)
    if first is None:
        return
    _, header = next(rows_of(iter([first]), str(path)))
    lines = chain([first], lines)
    if text_field and text_field in header:
        table = rows_of(lines, str(path))
        next(table)
        yield from _examples(table, path, header, text_field, "")
        return
    for number, line in enumerate(lines, start=1):
        yield Example(line, "", f"{path}:{number}")


def read_labelled(
    path: Path, text_field: str, label_field: str, encoding: str = "utf-8", pair_field: str = ""
) -> Iterator[Example]:
    """Yield the texts and labels of a TSV or CSV file with a header.

    Args:
        path: the file, plain or compressed.
        text_field: name of the text column.
        label_field: name of the label column.
        encoding: encoding of the file.
        pair_field: name of the column of second texts; "": single texts.

    Raises:
        UserError: the file is missing, unreadable, damaged or empty, or the header or a row lacks a column.
    """
    table = read_table(str(path), encoding)
    _, header = next(table)
    fields = {"text_field": text_field, "label_field": label_field}
    check_header(header, fields | ({"pair_field": pair_field} if pair_field else {}), path)
    yield from _examples(table, path, header, text_field, label_field, pair_field)


def check_header(header: list[str], fields: Mapping[str, str], path: Path) -> None:
    """Raise ``UserError`` if a header lacks a column; ``fields`` are columns by their setting."""
    for key, field in fields.items():
        if field not in header:
            remedy = f"Name the column with --data.{key}. There are: {', '.join(header)}."
            raise UserError(f'no column "{field}" in the header', place=f"{path}:1", remedy=remedy)


def rows(table: Iterator[Row], path: Path, header: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield place and cells of each row after the header; blank rows are skipped.

    Raises:
        UserError: a row with fewer or more columns than the header.
    """
    for number, cells in table:
        place = f"{path}:{number}"
        if cells and len(cells) != len(header):
            fact = f"{len(cells)} columns, but the header has {len(header)}"
            raise UserError(fact, place=place, remedy="Correct the line, or remove it.")
        if cells:
            yield place, cells


def _examples(
    table: Iterator[Row],
    path: Path,
    header: list[str],
    text_field: str,
    label_field: str,
    pair_field: str = "",
) -> Iterator[Example]:
    text = header.index(text_field)
    label, second = (header.index(field) if field else None for field in (label_field, pair_field))
    for place, cells in rows(table, path, header):
        if label is not None and not cells[label]:
            raise UserError("no label", place=place, remedy="Correct the line, or remove it.")
        yield Example(
            cells[text],
            "" if label is None else cells[label],
            place,
            "" if second is None else cells[second],
        )
