"""Lines of reStructuredText, and the blocks that consist of them."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from multihead_documents.splice import Span

_LINE = re.compile(r"([ \t]*)([^\r\n]*)(\r\n?|\n|\Z)")


class Block(NamedTuple):
    """A paragraph or another text of one or more lines."""

    kind: str
    """``paragraph``, ``title`` (of a section), ``term``, ``line``, ``cell``, ``argument`` or ``raw`` (no
    markup)."""
    content: str
    """The lines without indentation, joined by line feeds."""
    starts: Sequence[int]
    """Offsets of the lines in the content, ..."""
    places: Sequence[int]
    """... and in the file."""
    rules: Sequence[Span] = ()
    """Lines above and below a title."""

    def place(self, offset: int) -> int:
        """Return the file offset of a content offset."""
        number = bisect_right(self.starts, offset) - 1
        return self.places[number] + offset - self.starts[number]

    def span(self, start: int, end: int) -> Span:
        """Return the file span of a content span."""
        return Span(self.place(start), self.place(end))


class Lines:
    """The lines of a file. Where a marker is passed, the rest of its line becomes a line of its own."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.begins = array("l")
        """Offset of the first character that is not a space."""
        self.ends = array("l")
        """Offset after the last one."""
        self.columns = array("l")
        """Width of the indentation; -1 for a blank line."""
        place = len(text) - len(text.removeprefix("\ufeff"))
        while place < len(text):
            match = _LINE.match(text, place)
            assert match
            begin = match.start(2)
            end = begin + len(match[2].rstrip())
            self.begins.append(begin)
            self.ends.append(end)
            self.columns.append(len(match[1].expandtabs(8)) if end > begin else -1)
            place = match.end()

    def __len__(self) -> int:
        return len(self.begins)

    def match(self, pattern: re.Pattern[str], number: int) -> re.Match[str] | None:
        """Match a pattern with a line."""
        return pattern.match(self.text, self.begins[number], self.ends[number])

    def is_blank(self, number: int) -> bool:
        """Return whether a line is blank."""
        return self.columns[number] < 0

    def until(self, number: int, last: int, column: int) -> int:
        """Return the first line after one that is indented no deeper than a column."""
        number += 1
        while number < last and not 0 <= self.columns[number] <= column:
            number += 1
        return number

    def paragraph(self, number: int, last: int) -> int:
        """Return the end of the lines that have the indentation of the first."""
        column = self.columns[number]
        while number < last and self.columns[number] == column:
            number += 1
        return number

    def least_column(self, first: int, last: int, otherwise: int) -> int:
        """Return the smallest indentation of lines."""
        return min((column for column in self.columns[first:last] if column >= 0), default=otherwise)

    def pass_marker(self, number: int, place: int, column: int) -> None:
        """Let a line begin after its marker, at a column."""
        self.begins[number] = min(place, self.ends[number])
        self.columns[number] = column if place < self.ends[number] else -1

    def block(self, kind: str, first: int, last: int, rules: Sequence[Span] = ()) -> Block:
        """Return the block of lines that are not blank."""
        starts: list[int] = []
        places: list[int] = []
        texts: list[str] = []
        offset = 0
        for number in range(first, last):
            if not self.is_blank(number):
                text = self.text[self.begins[number] : self.ends[number]]
                starts.append(offset)
                places.append(self.begins[number])
                texts.append(text)
                offset += len(text) + 1
        return Block(kind, "\n".join(texts), starts, places, rules)
