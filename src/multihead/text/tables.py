"""Readers of texts, one a line or in columns of a TSV file, and of their labels."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from multihead.errors import UserError
from multihead.text.lines import read_lines


class Example(NamedTuple):
    """A text, its label ("" if none was requested), its place (file and line), and the second of a pair."""

    text: str
    label: str
    place: str
    second: str = ""


def read_texts(path: Path, text_field: str, encoding: str = "utf-8") -> Iterator[Example]:
    """Yield the texts of a TSV column if the header has it, else the lines of the file.

    Raises:
        UserError: the file is missing, unreadable or damaged, or a row lacks the column.
    """
    lines = read_lines(str(path), encoding)
    first = next(lines, None)
    if first is None:
        return
    header = first.split("\t")
    if text_field and text_field in header:
        yield from _rows(lines, path, header, text_field, "")
        return
    yield Example(first, "", f"{path}:1")
    for number, line in enumerate(lines, start=2):
        yield Example(line, "", f"{path}:{number}")


def read_labelled(
    path: Path, text_field: str, label_field: str, encoding: str = "utf-8", pair_field: str = ""
) -> Iterator[Example]:
    """Yield the texts and labels of a TSV file with a header. Quotes have no special meaning.

    Args:
        path: the file, plain or compressed.
        text_field: name of the text column.
        label_field: name of the label column.
        encoding: encoding of the file.
        pair_field: name of the column of second texts; "": single texts.

    Raises:
        UserError: the file is missing, unreadable, damaged or empty, or the header or a row lacks a column.
    """
    lines = read_lines(str(path), encoding)
    first = next(lines, None)
    if first is None:
        remedy = "Check its name, and that it is complete."
        raise UserError("the file is empty", place=str(path), remedy=remedy)
    header = first.split("\t")
    fields = {"text_field": text_field, "label_field": label_field}
    check_header(header, fields | ({"pair_field": pair_field} if pair_field else {}), path)
    yield from _rows(lines, path, header, text_field, label_field, pair_field)


def check_header(header: list[str], fields: Mapping[str, str], path: Path) -> None:
    """Raise ``UserError`` where a header lacks a column; ``fields`` are columns by their setting."""
    for key, field in fields.items():
        if field not in header:
            remedy = f"Name the column with --data.{key}. There are: {', '.join(header)}."
            raise UserError(f'no column "{field}" in the header', place=f"{path}:1", remedy=remedy)


def rows(lines: Iterator[str], path: Path, header: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield place and cells of each line after the header; empty lines are skipped.

    Raises:
        UserError: a line with fewer or more columns than the header.
    """
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        cells, place = line.split("\t"), f"{path}:{number}"
        if len(cells) != len(header):
            fact = f"{len(cells)} columns, but the header has {len(header)}"
            raise UserError(fact, place=place, remedy="Correct the line, or remove it.")
        yield place, cells


def _rows(
    lines: Iterator[str],
    path: Path,
    header: list[str],
    text_field: str,
    label_field: str,
    pair_field: str = "",
) -> Iterator[Example]:
    text = header.index(text_field)
    label, second = (header.index(field) if field else None for field in (label_field, pair_field))
    for place, cells in rows(lines, path, header):
        if label is not None and not cells[label]:
            raise UserError("no label", place=place, remedy="Correct the line, or remove it.")
        yield Example(
            cells[text],
            "" if label is None else cells[label],
            place,
            "" if second is None else cells[second],
        )
