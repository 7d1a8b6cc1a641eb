"""Questions whose answers are parts of a text, from TSV files with a header."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from multihead.errors import UserError
from multihead.text.delimited import read_table
from multihead.text.tables import check_header, rows


class Question(NamedTuple):
    """A question about a text.

    Attributes:
        question: the question.
        text: the text.
        answer: the answer, a part of the text; "" if the text has none.
        start: offset of the answer in the text, in characters (code points); None: wherever it occurs.
        place: file and line.
    """

    question: str
    text: str
    answer: str
    start: int | None
    place: str


def read_questions(path: Path, fields: Mapping[str, str], encoding: str = "utf-8") -> Iterator[Question]:
    """Yield the questions of a TSV or CSV file.

    Args:
        path: the file, plain or compressed.
        fields: names of the columns by the settings that name them: question_field, text_field, answer_field
            and start_field, which the header need not have.
        encoding: encoding of the file.

    Raises:
        UserError: the file is missing, unreadable, damaged or empty; the header lacks a column; a line has
            another number of columns, no question, or an answer that is not in its text.
    """
    table = read_table(str(path), encoding)
    _, header = next(table)
    start_field = fields["start_field"]
    check_header(header, {key: name for key, name in fields.items() if name != start_field}, path)
    question, text, answer = (
        header.index(fields[key]) for key in ("question_field", "text_field", "answer_field")
    )
    start = header.index(start_field) if start_field in header else None
    for place, cells in rows(table, path, header):
        offset = _offset(cells[start], place) if start is not None and cells[answer] else None
        yield check(Question(cells[question], cells[text], cells[answer], offset, place))


def check(given: Question) -> Question:
    """Return a question. Raises ``UserError``: it is empty, or its answer is not in its text."""
    if not given.question.strip():
        raise UserError("no question", place=given.place, remedy="Correct the line, or remove it.")
    if given.start is None:
        if given.answer not in given.text:
            fact = f'the answer "{shorten(given.answer)}" is not in the text'
            remedy = "Write it letter for letter as the text does, or leave it empty where there is none."
            raise UserError(fact, place=given.place, remedy=remedy)
    elif not given.text.startswith(given.answer, given.start):
        fact = f'the answer "{shorten(given.answer)}" does not begin at character {given.start}'
        remedy = "Count characters (code points) from 0, or leave the cell empty."
        raise UserError(fact, place=given.place, remedy=remedy)
    return given


def answer_start(given: Question) -> int:
    """Return the offset of an answer, which is not empty, in its text.

    Raises:
        UserError: it occurs several times, and the offset is not given.
    """
    if given.start is not None:
        return given.start
    first = given.text.find(given.answer)
    if given.text.find(given.answer, first + 1) >= 0:
        fact = f'the answer "{shorten(given.answer)}" occurs several times in the text'
        remedy = "Give its offset in characters, from 0, in a column start (data.start_field)."
        raise UserError(fact, place=given.place, remedy=remedy)
    return first


def shorten(text: str, most: int = 40) -> str:
    """Return a text that fits into a message."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _offset(cell: str, place: str) -> int | None:
    """Return the offset in a cell, None for an empty one."""
    if not cell.strip():
        return None
    if not (cell.strip().isascii() and cell.strip().isdigit()) or len(cell) > 12:
        fact = f'the start "{shorten(cell)}" is not a whole number'
        raise UserError(fact, place=place, remedy="Count characters from 0, or leave the cell empty.")
    return int(cell)
