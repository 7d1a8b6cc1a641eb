"""Tables of reStructuredText: cells to translate, and the table drawn again around them.

Grid tables and simple ones are read where every cell is in one column and one row; tables with cells that
span several are kept.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from multihead_documents.rst.lines import Block, Lines
from multihead_documents.splice import Span
from multihead_documents.subtitles.line_wrapping import columns

_SEPARATOR = re.compile(r"\+(?:-+\+)+$|\+(?:=+\+)+$")
_UNDERLINE = re.compile(r"-+(?: +-+)*$")
_COLUMN = re.compile("=+")


@dataclass
class Cell:
    """A cell: its lines as spans of the file, without the spaces at their ends; blank ones have no length."""

    lines: list[Span]
    margins: list[int]
    """Spaces before each line, beyond those of the cell."""

    def parts(self) -> list["Cell"]:
        """Return its runs of lines, filled and blank ones in turn."""
        filled = [line.end > line.start for line in self.lines]
        cuts = [0, *(number for number in range(1, len(filled)) if filled[number] != filled[number - 1])]
        return [
            Cell(self.lines[first:last], self.margins[first:last])
            for first, last in pairwise((*cuts, len(filled)))
        ]

    def text(self, source: str) -> list[str]:
        """Return the lines as they are."""
        return [
            " " * margin + source[line.start : line.end]
            for line, margin in zip(self.lines, self.margins, strict=True)
        ]

    def block(self, source: str) -> Block:
        """Return the lines as a block."""
        texts = [source[line.start : line.end] for line in self.lines]
        starts = [0, *accumulate(len(text) + 1 for text in texts)][:-1]
        return Block("cell", "\n".join(texts), starts, [line.start for line in self.lines])


@dataclass
class Table:
    """A table; its rows are cells, or the sign of a line between rows ("" a blank one)."""

    span: Span
    indent: str
    widths: list[int]
    gaps: Sequence[int] = ()
    """Spaces between the columns of a simple table; a grid has none."""
    rows: list[list[Cell] | str] = field(default_factory=list)

    def draw(self, source: str, texts: Mapping[int, str], newline: str) -> str:
        """Return the table with new texts.

        Args:
            source: the file.
            texts: new text of a cell by the offset of its first line.
            newline: end of a line.
        """
        rows = [
            row if isinstance(row, str) else [self._lines(cell, source, texts) for cell in row]
            for row in self.rows
        ]
        cells = [row for row in rows if not isinstance(row, str)]
        room = 0 if self.gaps else 2
        widths = [
            max([least, *(columns(line) + room for row in cells for line in row[column])])
            for column, least in enumerate(self.widths)
        ]
        lines: list[str] = []
        for row in rows:
            if isinstance(row, str):
                lines.append(self._rule(row, widths))
            else:
                lines += self._row(row, widths)
        return newline.join([lines[0], *(f"{self.indent}{line}" if line else "" for line in lines[1:])])

    @staticmethod
    def _lines(cell: Cell, source: str, texts: Mapping[int, str]) -> list[str]:
        result: list[str] = []
        for part in cell.parts() if cell.lines else ():
            new = texts.get(part.lines[0].start)
            result += part.text(source) if new is None else [new]
        return result

    def _rule(self, sign: str, widths: Sequence[int]) -> str:
        if not sign:
            return ""
        return self._join([sign * width for width in widths], "+")

    def _row(self, row: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
        height = max(1, *map(len, row))
        lines = []
        for number in range(height):
            parts = [cell[number] if number < len(cell) else "" for cell in row]
            if not self.gaps:
                parts = [f" {part}" for part in parts]
            filled = [part + " " * (width - columns(part)) for part, width in zip(parts, widths, strict=True)]
            lines.append(self._join(filled, "|").rstrip())
        return lines

    def _join(self, parts: Sequence[str], corner: str) -> str:
        if not self.gaps:
            return f"{corner}{corner.join(parts)}{corner}"
        return "".join(part + " " * gap for part, gap in zip(parts, (*self.gaps, 0), strict=True))


def grid_table(lines: Lines, first: int, last: int) -> Table | None:
    """Return the grid table of some lines; None if one of its cells spans others, or it is broken."""
    if not _even(lines, first, last):
        return None
    texts = [_line(lines, number, first) for number in range(first, last)]
    corners = [number for number, sign in enumerate(texts[0]) if sign == "+"]
    widths = [right - left - 1 for left, right in pairwise(corners)]
    table = Table(_span(lines, first, last), _indent(lines, first), widths)
    row: list[Cell] = []
    for number, text in enumerate(texts, first):
        cut = _cut(text, corners)
        if cut is None:
            return None
        if _SEPARATOR.match(text) and all(text[place] == "+" for place in corners):
            table.rows += [row, text[1]] if row else [text[1]]
            row = []
        elif all(text[cut[place]] == "|" for place in corners) and table.rows:
            row = row or [Cell([], []) for _ in widths]
            begin = _begin(lines, number, first)
            for cell, (left, right) in zip(row, pairwise(corners), strict=True):
                _add(cell, text, begin, cut[left] + 1, cut[right])
        else:
            return None
    for cells in table.rows:
        if not isinstance(cells, str):
            for cell in cells:
                _settle(cell)
    return table if not row and table.rows.count("=") <= 1 else None


def simple_table(lines: Lines, first: int, last: int) -> Table | None:
    """Return the simple table of some lines; None if a cell of it spans columns, or it is broken."""
    if not _even(lines, first, last):
        return None
    border = _line(lines, first, first)
    match = list(_COLUMN.finditer(border))
    gaps = [right.start() - left.end() for left, right in pairwise(match)]
    widths = [column.end() - column.start() for column in match]
    table = Table(_span(lines, first, last), _indent(lines, first), widths, gaps)
    edges = sorted({edge for column in match for edge in column.span()})
    for number in range(first, last):
        text = "" if lines.is_blank(number) else _line(lines, number, first)
        cut = _cut(text, edges, short=True)
        if text == border or not text:
            table.rows.append("=" if text else "")
            continue
        if cut is None or _UNDERLINE.match(text):
            return None
        row = [Cell([], []) for _ in widths]
        begin = _begin(lines, number, first)
        for position, (cell, column) in enumerate(zip(row, match, strict=True)):
            is_last = position == len(match) - 1
            _add(cell, text, begin, cut[column.start()], len(text) if is_last else cut[column.end()])
            if not is_last and text[cut[column.end()] : cut[match[position + 1].start()]].strip():
                return None
        before = table.rows[-1]
        if row[0].lines[0].start == row[0].lines[0].end:
            if isinstance(before, str):
                return None
            for cell, more in zip(before, row, strict=True):
                cell.lines += more.lines
                cell.margins += more.margins
        else:
            table.rows.append(row)
    for cells in table.rows:
        if not isinstance(cells, str):
            for cell in cells:
                _settle(cell)
    return table


def _even(lines: Lines, first: int, last: int) -> bool:
    """Return whether no line begins before the first, and none has a tab."""
    filled = [number for number in range(first, last) if not lines.is_blank(number)]
    column = lines.columns[first]
    if len(filled) < 3 or any(lines.columns[number] < column for number in filled):
        return False
    return not any("\t" in lines.text[_begin(lines, number, first) : lines.ends[number]] for number in filled)


def _begin(lines: Lines, number: int, first: int) -> int:
    """Return the offset of a line in the column where the table begins."""
    return lines.begins[number] - (lines.columns[number] - lines.columns[first])


def _line(lines: Lines, number: int, first: int) -> str:
    return lines.text[_begin(lines, number, first) : lines.ends[number]]


def _span(lines: Lines, first: int, last: int) -> Span:
    return Span(lines.begins[first], lines.ends[last - 1])


def _indent(lines: Lines, number: int) -> str:
    begin = lines.begins[number]
    line = max(lines.text.rfind("\n", 0, begin), lines.text.rfind("\r", 0, begin)) + 1
    return "".join(sign if sign.isspace() else " " for sign in lines.text[line:begin])


def _cut(text: str, places: Sequence[int], *, short: bool = False) -> dict[int, int] | None:
    """Return the offset of each column; None where one is inside a wide letter, or behind the end."""
    if text.isascii():
        column = len(text)
        offsets = {place: place for place in places if place < column}
    else:
        column, offsets, cuts = 0, {}, set(places)
        for offset, letter in enumerate(text):
            if column in cuts:
                offsets[column] = offset
            column += columns(letter)
    if short:
        offsets |= {place: len(text) for place in places if place >= column}
    return offsets if len(offsets) == len(places) and (short or column == places[-1] + 1) else None


def _add(cell: Cell, text: str, begin: int, left: int, right: int) -> None:
    """Add a line to a cell: the part of a line between two offsets."""
    part = text[left:right]
    bare = part.strip()
    margin = len(part) - len(part.lstrip()) if bare else 0
    cell.lines.append(Span(begin + left + margin, begin + left + margin + len(bare)))
    cell.margins.append(margin)


def _settle(cell: Cell) -> None:
    """Leave out blank lines at both ends, and the spaces before all lines."""
    filled = [number for number, line in enumerate(cell.lines) if line.end > line.start]
    inner = slice(filled[0], filled[-1] + 1) if filled else slice(0, 0)
    cell.lines, cell.margins = cell.lines[inner], cell.margins[inner]
    least = min((cell.margins[number - inner.start] for number in filled), default=0)
    cell.margins = [max(0, margin - least) for margin in cell.margins]
