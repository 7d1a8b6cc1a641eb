"""Readers of texts, one a line or in a column of a TSV file, and of their labels."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from multihead.errors import UserError
from multihead.text.lines import read_lines


class Example(NamedTuple):
    """A text, its label ("" if none was requested), and its place (file and line)."""

    text: str
    label: str
    place: str


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
    path: Path, text_field: str, label_field: str, encoding: str = "utf-8"
) -> Iterator[Example]:
    """Yield the texts and labels of a TSV file with a header. Quotes have no special meaning.

    Raises:
        UserError: the file is missing, unreadable, damaged or empty, or the header or a row lacks a column.
    """
    lines = read_lines(str(path), encoding)
    first = next(lines, None)
    if first is None:
        remedy = "Check its name, and that it is complete."
        raise UserError("the file is empty", place=str(path), remedy=remedy)
    header = first.split("\t")
    for key, field in (("text_field", text_field), ("label_field", label_field)):
        if field not in header:
            remedy = f"Name the column with --data.{key}. There are: {', '.join(header)}."
            raise UserError(f'no column "{field}" in the header', place=f"{path}:1", remedy=remedy)
    yield from _rows(lines, path, header, text_field, label_field)


def _rows(
    lines: Iterator[str], path: Path, header: list[str], text_field: str, label_field: str
) -> Iterator[Example]:
    text = header.index(text_field)
    label = header.index(label_field) if label_field else None
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        cells = line.split("\t")
        if len(cells) != len(header):
            fact = f"{len(cells)} columns, but the header has {len(header)}"
            raise UserError(fact, place=f"{path}:{number}", remedy="Correct the line, or remove it.")
        if label is not None and not cells[label]:
            raise UserError("no label", place=f"{path}:{number}", remedy="Correct the line, or remove it.")
        yield Example(cells[text], "" if label is None else cells[label], f"{path}:{number}")
