"""Tables of values (.csv, .tsv): the cells of the columns that the user names."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from multihead_documents.errors import DocumentError
from multihead_documents.markup import Markup
from multihead_documents.plain_text import one_line
from multihead_documents.reading import Text
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.text_document import TextDocument

_SEPARATOR_LINE = re.compile(r"\ufeff?sep=(.)(?:\r\n?|\n)")
"""A first line that Excel writes and reads."""
_SEPARATORS = ",;\t"
"""Separators of cells; spreadsheets write semicolons where decimals have commas."""
_SAMPLED = 50
"""Lines that decide which of them does."""
_SHOWN = 12
"""Most columns that an error lists."""


class _Cell(NamedTuple):
    """A cell: its place, and its text without quotes."""

    span: Span
    text: str


def _separator(sample: Sequence[str]) -> str:
    """Return the separator by which most rows have the same number of cells, but more than one."""
    return max(_SEPARATORS, key=lambda mark: _regularity(sample, mark))


def _regularity(sample: Sequence[str], mark: str) -> float:
    try:
        rows = [row for row in csv.reader((f"{line}\n" for line in sample), delimiter=mark) if row]
    except csv.Error:
        return 0.0
    widths = Counter(map(len, rows))
    width, count = max(widths.items(), key=lambda item: item[1], default=(0, 0))
    return count / len(rows) if width > 1 else 0.0


class CsvTable(TextDocument):
    """A table of values. Its segments are the cells with letters in some columns; all else is kept.

    Args:
        path: the file.
        text: its content.
        columns: their names in the first row, which is then kept, or their numbers, from 1.

    Raises:
        DocumentError: no such column, or none is named; rows of different lengths; a quote without its
            end.
    """

    kind = "csv"

    def __init__(self, path: Path, text: Text, columns: Sequence[str]) -> None:
        super().__init__(path, text)
        self._tabs = path.suffix.lower() == ".tsv"
        self._cells: list[_Cell] = []
        first = _SEPARATOR_LINE.match(text.text)
        start = first.end() if first else len(text.text) - len(text.text.removeprefix("\ufeff"))
        sample = text.text[start : start + (1 << 16)].splitlines()[:_SAMPLED]
        self._separator = "\t" if self._tabs else first[1] if first else _separator(sample)
        rows = self._rows(start)
        header = next(rows, [])
        indices = self._column_indices(header, columns)
        if all(map(_is_number, columns)):
            self._take(header, indices)
        for row in rows:
            self._take(row, indices)
            if len(row) != len(header) and not self._tabs and any(cell.text for cell in row):
                fact = f'{len(row)} cells between "{self._separator}", but the first row has {len(header)}'
                remedy = "Quote texts that contain the separator, as spreadsheets do."
                raise DocumentError(fact, place=text.place(row[0].span.start), remedy=remedy)

    def _rows(self, start: int) -> Iterator[list[_Cell]]:
        """Yield the cells of each row."""
        text, mark = self._text.text, re.escape(self._separator)
        inside = r'[^"\t\r\n]' if self._tabs else '[^"]'
        quoted = re.compile(rf'"((?:{inside}|"")*)"(?={mark}|[\r\n]|\Z)')
        plain = re.compile(rf"[^{mark}\r\n]*")
        end = re.compile(r"\r\n?|\n|\Z")
        row: list[_Cell] = []
        while start < len(text) or row:
            match = quoted.match(text, start)
            if match:
                row.append(_Cell(Span(start, match.end()), match[1].replace('""', '"')))
            else:
                if text.startswith('"', start) and not self._tabs:
                    remedy = "Is a quote missing? Save the table again as CSV, or tab-separated as .tsv."
                    raise DocumentError(
                        "a quote without its end", place=self._text.place(start), remedy=remedy
                    )
                match = plain.match(text, start)
                assert match
                row.append(_Cell(Span(start, match.end()), match[0]))
            start = match.end()
            if text.startswith(self._separator, start):
                start += 1
                continue
            ending = end.match(text, start)
            assert ending
            start = ending.end()
            yield row
            row = []

    def _column_indices(self, header: Sequence[_Cell], columns: Sequence[str]) -> list[int]:
        """Return the indices of the columns."""
        names = [" ".join(cell.text.split()) for cell in header]
        listed = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        if not columns:
            remedy = f"Name them, or their numbers: --columns NAME NAME. The first row has: {listed}."
            raise DocumentError(
                "which columns are text, a table does not say", place=str(self.path), remedy=remedy
            )
        indices: list[int] = []
        for column in columns:
            if names.count(column) == 1:
                indices.append(names.index(column))
            elif _is_number(column) and int(column) <= len(names):
                indices.append(int(column) - 1)
            else:
                fact = f'{names.count(column) or "no"} columns are called "{column}"'
                raise DocumentError(fact, place=f"{self.path}:1", remedy=f"The first row has: {listed}.")
        return sorted(set(indices))

    def _take(self, row: Sequence[_Cell], wanted: Sequence[int]) -> None:
        for column in wanted:
            if column < len(row) and any(map(str.isalpha, row[column].text)):
                cell = row[column]
                self._cells.append(cell)
                source = Markup.of(cell.text).collapsed().strip()
                place = f"{self._text.place(cell.span.start)}, column {column + 1}"
                self._add(Segment(len(self.segments), source, place))

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        for number, translation in translations.items():
            cell = self._cells[number]
            lead, _, trail = cell.text.partition(cell.text.strip())
            text = lead + one_line(translation.target.text) + trail
            quoted = self._text.text[slice(*cell.span)] != cell.text
            yield Edit(cell.span, [self._spell(text, quoted=quoted)])

    def _spell(self, text: str, *, quoted: bool) -> str:
        """Return the text as a cell, in quotes if the old one had them or it needs them."""
        if self._tabs and not quoted:
            return text.replace("\t", " ")
        if quoted or self._separator in text or text.startswith('"'):
            return '"' + text.replace('"', '""') + '"'
        return text


def _is_number(column: str) -> bool:
    return column.isdecimal() and int(column) > 0
