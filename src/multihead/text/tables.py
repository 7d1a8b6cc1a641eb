"""Texts from files, one a line, or from a column of a TSV file with a heading line; and their labels."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from multihead.errors import UserError
from multihead.text.lines import read_lines


class Example(NamedTuple):
    """A text and its label ("" where none was asked for), and where they stand."""

    text: str
    label: str
    place: str


def read_texts(path: Path, text_field: str, encoding: str = "utf-8") -> Iterator[Example]:
    """Yield the texts of a file: of the column with this heading if the file has it, else its lines.

    Raises:
        UserError: a file that is missing, unreadable or damaged; a row without the column.
    """
    lines = read_lines(str(path), encoding)
    first = next(lines, None)
    if first is None:
        return
    heading = first.split("\t")
    if text_field and text_field in heading:
        yield from _rows(lines, path, heading, text_field, "")
        return
    yield Example(first, "", f"{path}:1")
    for number, line in enumerate(lines, start=2):
        yield Example(line, "", f"{path}:{number}")


def read_labelled(
    path: Path, text_field: str, label_field: str, encoding: str = "utf-8"
) -> Iterator[Example]:
    """Yield the texts and labels of a TSV file with a heading line. Quotes are characters like any other.

    Raises:
        UserError: a file that is missing, unreadable, damaged or empty; no such columns; a row lacks one.
    """
    lines = read_lines(str(path), encoding)
    first = next(lines, None)
    if first is None:
        raise UserError("the file is empty", place=str(path), remedy="Is it the right one, and whole?")
    heading = first.split("\t")
    for key, field in (("text_field", text_field), ("label_field", label_field)):
        if field not in heading:
            remedy = f"Say which it is: --data.{key}. There are: {', '.join(heading)}."
            raise UserError(f'no column "{field}" in the heading', place=f"{path}:1", remedy=remedy)
    yield from _rows(lines, path, heading, text_field, label_field)


def _rows(
    lines: Iterator[str], path: Path, heading: list[str], text_field: str, label_field: str
) -> Iterator[Example]:
    text = heading.index(text_field)
    label = heading.index(label_field) if label_field else None
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        cells = line.split("\t")
        if len(cells) != len(heading):
            fact = f"{len(cells)} columns, but the heading has {len(heading)}"
            raise UserError(fact, place=f"{path}:{number}", remedy="Mend the line, or leave it out.")
        if label is not None and not cells[label]:
            fact = "a text without a class"
            raise UserError(fact, place=f"{path}:{number}", remedy="Mend the line, or leave it out.")
        yield Example(cells[text], "" if label is None else cells[label], f"{path}:{number}")
