"""Cells of an Excel sheet: positions, shared strings, texts with runs (ECMA-376, part 1, sec. 18)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from multihead_documents.office.content import Content, content_of
from multihead_documents.office.runs import Fragment, Paragraph
from multihead_documents.splice import Span
from multihead_documents.xml.events import Event, escape

_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
MAX_COLUMNS, MAX_ROWS = 16_384, 1_048_576
_ESCAPED = re.compile(rb"_(?=x[0-9A-Fa-f]{4}_)")


class Position:
    """The position of the cell that is being read; cells and rows may leave it out."""

    def __init__(self) -> None:
        self.row = self.column = 0

    def __str__(self) -> str:
        letters, column = "", self.column
        while column:
            column, letter = divmod(column - 1, 26)
            letters = chr(ord("A") + letter) + letters
        return f"{letters}{self.row}"

    def enter(self, event: Event) -> None:
        """Take the start of a row or cell."""
        named = event.attributes.get("r", "")
        if event.name == "row":
            self.row = int(named) if re.fullmatch("[0-9]{1,7}", named) else self.row + 1
            self.column = 0
        elif event.name == "c":
            match = _REFERENCE.fullmatch(named)
            self.column = _column(match[1]) if match else self.column + 1


class CellSet:
    """A set of cells: the first and last rows of ranges."""

    def __init__(self) -> None:
        self._columns: dict[int, int] = {}
        """The columns of each row, as bits."""

    def add(self, reference: str, top: int, bottom: int = 0) -> None:
        """Add the first and last rows of a range such as ``A1:C9``.

        Args:
            reference: the range.
            top: number of rows at its top.
            bottom: number of rows at its bottom.
        """
        first, _, last = reference.partition(":")
        begin, end = _REFERENCE.fullmatch(first), _REFERENCE.fullmatch(last or first)
        if not begin or not end:
            return
        left, right = _column(begin[1]), _column(end[1])
        columns = (1 << (right + 1)) - (1 << left) if left <= right else 0
        rows = range(int(begin[2]), int(end[2]) + 1)
        for row in (*rows[:top], *rows[len(rows) - bottom :]):
            self._columns[row] = self._columns.get(row, 0) | columns

    def __contains__(self, position: Position) -> bool:
        return bool(self._columns.get(position.row, 0) >> position.column & 1)


def position_of(cell: str) -> tuple[int, int]:
    """Return the column and row of a cell, from 1; zeros for a name of none in Excel's bounds."""
    match = _REFERENCE.fullmatch(cell)
    column, row = (_column(match[1]), int(match[2])) if match else (0, 0)
    return (column, row) if 0 < column <= MAX_COLUMNS and 0 < row <= MAX_ROWS else (0, 0)


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


FORMULA_TEXT = re.compile(r"\"(?:[^\"]*[^\W\d_]{2}[^\"]*\s|\s[^\"]*[^\W\d_]{2})[^\"]*\"")
"""A text of words in a formula, ``"Mr "``; a single word may be the name of a sheet, a key or a format."""


def formula_texts(events: Iterable[Event], position: Position) -> Iterator[str]:
    """Yield the cells of a sheet whose formulas have a text of words.

    Args:
        events: of the sheet.
        position: moved along.
    """
    formula: str | None = None
    for event in events:
        if event.kind == "start":
            position.enter(event)
            formula = "" if event.name == "f" else formula
        elif event.kind == "text" and formula is not None:
            formula += event.text
        elif event.kind == "end" and event.name == "f" and formula is not None:
            if FORMULA_TEXT.search(formula):
                yield str(position)
            formula = None


def shared_cells(events: Iterable[Event], position: Position) -> Iterator[tuple[int, bool]]:
    """Yield the index of each shared string in a sheet, and whether a formula gave it.

    Args:
        events: of the sheet.
        position: moved along.
    """
    shared = formula = False
    value: str | None = None
    for event in events:
        if event.kind == "text":
            value = value + event.text if value is not None else None
        elif event.kind == "start":
            position.enter(event)
            if event.name == "c":
                shared, formula = event.attributes.get("t") == "s", False
            elif event.name == "v" and shared:
                value = ""
            formula = formula or event.name == "f"
        elif event.kind == "end" and event.name == "v" and value is not None:
            if re.fullmatch(r"\s*[0-9]{1,9}\s*", value):
                yield int(value), formula
            value = None


def cell_text(text: str) -> bytes:
    """Return a text as XML of Excel, in which ``_x0041_`` would spell a character."""
    return _ESCAPED.sub(b"_x005F_", escape(text).encode())


@dataclass
class CellContent(Content):
    """The text of a cell: runs, or a text without any."""

    bare: bool = False
    """True if it has no runs."""

    def _escape(self, text: str) -> bytes:
        return cell_text(text.replace("\n", " ").replace("\t", " "))

    def _attributes(self, text: bytes) -> bytes:
        return b' xml:space="preserve"' if text != text.strip() or b"\n" in text else b""

    def _runs(self, fragments: Iterable[Fragment]) -> list[bytes | Span]:
        return super()._runs(
            Fragment(content, None if self.bare else properties or b"") for content, properties in fragments
        )


class CellText(Paragraph):
    """The text of a cell, ``<si>`` or ``<is>``. Ends of lines are codes; ``_x0041_`` spells a character."""

    keeps_space = True
    codes = re.compile(r"\n|_x[0-9A-Fa-f]{4}_")

    def content(self, end: int, place: str) -> CellContent | None:
        """Return its content at its end; None if it has no text."""
        content = content_of(self, end, place, CellContent)
        if content:
            texts = [entry for entry in self.entries if entry.kind is None]
            content.bare = all(text.fragments[0].properties is None for text in texts)
        return content

    def _holds_text(self) -> bool:
        return True

    def _add_code(self, code: str) -> None:
        letter = code if code == "\n" else chr(int(code[2:6], 16))
        if letter.isprintable():
            self._add_text(letter, True)
        else:
            super()._add_code(code)
