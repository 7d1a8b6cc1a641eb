"""Jupyter notebooks (.ipynb): the text of Markdown cells."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from multihead_documents.errors import DocumentError
from multihead_documents.markdown.markdown import Markdown
from multihead_documents.reading import Text
from multihead_documents.segment import Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.strings.json_strings import Level, StringReader, Value
from multihead_documents.text_document import TextDocument

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_INDENTATION = re.compile(r"\s*\Z")


class _Cell(NamedTuple):
    """A Markdown cell, and the lines that the file has it in, as a list of strings or as one string."""

    page: Markdown
    lines: list[Value]
    is_list: bool


MAX_CELL = 8 << 20
"""Size limit of a cell in characters, as of a page: the parser is slow."""


class Notebook(TextDocument):
    """A notebook of nbformat 3 or later. Code, outputs, attachments and metadata are kept."""

    kind = "notebook"

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path, text)
        self._cells: dict[int, tuple[_Cell, int]] = {}
        """Cell of each segment, and the segment's number in it."""
        # A file that escapes all non-ASCII characters continues to do so.
        self._escapes = text.text.isascii() and "\\u" in text.text
        values = list(StringReader(text).values())
        if not any(
            {"cells", "worksheets"} & level.keys for value in values for level in value.level.within()
        ):
            remedy = "Is it a notebook of Jupyter's? If so, save it again there."
            raise DocumentError("no cells in it", place=str(path), remedy=remedy)
        sources = (value for value in values if _cell_of(value) is not None)
        for _, group in groupby(sources, key=_source_of):
            lines = list(group)
            level = _cell_of(lines[0])
            if level and level.strings.get("cell_type") == "markdown":
                self._add_cell(level, lines)
        self.note_links(place for cell, _ in self._cells.values() for place in cell.page.links)

    def note_links(self, places: Iterable[str]) -> None:
        """Take note of headings that other documents, or other cells, link to."""
        remaining = set(places)
        for page in {id(cell): cell.page for cell, _ in self._cells.values()}.values():
            page.note_links(remaining)

    def _add_cell(self, level: Level, lines: list[Value]) -> None:
        text = "".join(line.text for line in lines)
        place = f"{self.path}: cell {int(level.step) + 1}" if level.step.isdigit() else str(self.path)
        if len(text) > MAX_CELL:
            raise DocumentError(f"a cell of {len(text):,} characters", place=place, remedy="Divide it.")
        cell = _Cell(Markdown(Path(place), Text(place, text, "utf-8")), lines, lines[0].level is not level)
        self.notes += cell.page.notes
        for segment in cell.page.segments:
            number = len(self.segments)
            self._cells[number] = cell, segment.number
            self._add(replace(segment, number=number))

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        def cell_of(number: int) -> int:
            return id(self._cells[number][0])

        for _, numbers in groupby(sorted(translations), key=cell_of):
            cell_numbers = list(numbers)
            cell = self._cells[cell_numbers[0]][0]
            text = cell.page.translated(
                {self._cells[number][1]: translations[number] for number in cell_numbers}
            )
            yield Edit(Span(cell.lines[0].span.start, cell.lines[-1].span.end), [self._spell(cell, text)])

    def _spell(self, cell: _Cell, text: str) -> str:
        """Return the lines of a cell as the file spells them, with what it has between two lines."""
        if not cell.is_list:
            return json.dumps(text, ensure_ascii=self._escapes)
        whole = self._text.text
        first = cell.lines[0].span
        if len(cell.lines) > 1:
            between = whole[first.end : cell.lines[1].span.start]
        else:
            space = _INDENTATION.search(whole, max(0, first.start - 200), first.start)
            between = "," + (space[0] if space else "")
        lines = _LINE.findall(text)
        return between.join(json.dumps(line, ensure_ascii=self._escapes) for line in lines)


def _cell_of(value: Value) -> Level | None:
    """Return the cell that a string is the source of, or a line of it; None for any other."""
    if value.key == "source" and "cell_type" in value.level.keys:
        return value.level
    outer = value.level.outer
    if outer and value.level.step == "source" and not value.level.is_object and "cell_type" in outer.keys:
        return outer
    return None


def _source_of(line: Value) -> tuple[int, int]:
    """Return what the lines of one source share."""
    return id(line.level), line.span.start if _cell_of(line) is line.level else 0
