"""Blocks of reStructuredText: paragraphs, titles, lists, directives and what is kept between them."""

import re
from typing import NamedTuple

from multihead_documents.rst.directives import DIRECTIVES, FIELDS, OPTIONS
from multihead_documents.rst.lines import Block, Lines
from multihead_documents.rst.tables import Cell, Table, grid_table, simple_table
from multihead_documents.splice import Span
from multihead_documents.subtitles.line_wrapping import width

_BULLET = re.compile(r"[-+*•‣⁃](?:[ \t]+|$)")
_ORDINAL = r"(?:[0-9]+|[A-Za-z]|[ivxlcdm]+|[IVXLCDM]+|#)"
ENUMERATOR = re.compile(rf"(?:\({_ORDINAL}\)|{_ORDINAL}[.)])(?:[ \t]+|$)")
_FIELD = re.compile(r":(?![: ])((?:[^:\\]|\\.|:(?![ `]|$)){1,500})(?<! ):(?:[ \t]+|$)")
_ONE_OPTION = r"(?:-[\w?]|--?\w[\w-]*|/[A-Za-z]+)(?:[ =]?(?:[A-Za-z][\w-]*|<[^<>]{1,50}>))?"
_OPTION = re.compile(rf"{_ONE_OPTION}(?:, {_ONE_OPTION}){{0,9}}(?:  +|$)")
_DOCTEST = re.compile(r">>>(?: |$)")
_BAR = re.compile(r"\|(?:[ \t]+|$)")
_GRID = re.compile(r"\+-[-+]+-\+$")
_SIMPLE = re.compile(r"=+(?: +=+)+$")
_BORDER = re.compile(r"=[= ]*$")
_EXPLICIT = re.compile(r"\.\.(?:[ \t]+|$)")
_ANONYMOUS = re.compile(r"__(?: |$)")
RULE = re.compile(r"([!-/:-@\[-`{-~])\1*$")
"""A line below or above a title, or a transition."""
_SHORTEST_RULE = 4
"""Signs of a transition; a line below a title may be shorter if the title is."""
_NOTE = re.compile(r"\[(?:[0-9]+|#[\w.:+-]*|\*|\w[\w.:+-]*)\](?:[ \t]+|$)")
_REPLACE = re.compile(r"\|[^|]{1,200}\|[ \t]+replace::(?:[ \t]+|$)")
_DIRECTIVE = re.compile(r"(\w[\w.:+-]*?)[ ]?::(?:[ \t]+|$)")
_VERSION = re.compile(r"\S+(?:[ \t]+|$)")
_ATTRIBUTION = re.compile(r"(?:---?(?!-)|—)[ \t]*(?=\S)")
_CLASSIFIER = re.compile(r"[ \t]+:[ \t]+")
_BEGINNINGS = (_BULLET, ENUMERATOR, _FIELD, _OPTION, _DOCTEST, _BAR, _GRID, _EXPLICIT, _ANONYMOUS)
"""Beginnings of what is not a paragraph."""
MAX_DEPTH = 100
"""Limit of blocks inside one another; what is deeper is kept."""


class _Region(NamedTuple):
    """Lines of one body: the file, a list's item, a quotation, the content of a directive."""

    first: int
    last: int
    column: int
    depth: int
    role: str = ""
    """``quote``, or ``terms`` for a glossary, whose terms are kept."""


def blocks(text: str) -> tuple[list[Block], list[Table]]:
    """Return the blocks with text, in order, and the tables that those of kind ``cell`` are in."""
    parser = _Parser(text)
    while parser.regions:
        parser.parse(parser.regions.pop())
    return sorted(parser.blocks, key=lambda block: block.places[0]), parser.tables


class _Parser:
    """A parser without recursion: bodies wait on a stack."""

    def __init__(self, text: str) -> None:
        self.lines = Lines(text)
        self.blocks: list[Block] = []
        self.tables: list[Table] = []
        self.regions = [_Region(0, len(self.lines), 0, 0)]

    def parse(self, region: _Region) -> None:
        """Take the blocks of a body."""
        lines, number = self.lines, region.first
        while number < region.last:
            if lines.is_blank(number):
                number += 1
            elif lines.columns[number] > region.column:
                end = lines.until(number, region.last, region.column)
                self._enter(region, number, end, lines.least_column(number, end, 0), "quote")
                number = end
            else:
                number = self._element(region, number)

    def _enter(self, region: _Region, first: int, last: int, column: int, role: str = "") -> None:
        if region.depth < MAX_DEPTH:
            self.regions.append(_Region(first, last, column, region.depth + 1, role))

    def _enter_after(self, region: _Region, number: int, place: int, end: int) -> int:
        """Enter a body that begins after a marker, and goes on in lines indented deeper."""
        column = self.lines.least_column(number + 1, end, region.column + 1)
        self.lines.pass_marker(number, place, column)
        self._enter(region, number, end, column)
        return end

    def _add(self, kind: str, first: int, last: int, rules: tuple[Span, ...] = ()) -> None:
        block = self.lines.block(kind, first, last, rules)
        if block.content.strip():
            self.blocks.append(block)

    def _element(self, region: _Region, number: int) -> int:
        """Take the block that begins with a line; return the line after it."""
        lines, last, column = self.lines, region.last, region.column
        if match := lines.match(_BULLET, number):
            return self._item(region, number, match.end())
        if (match := lines.match(ENUMERATOR, number)) and self._is_item(region, number, match.end()):
            return self._item(region, number, match.end())
        if match := lines.match(_FIELD, number):
            end = lines.until(number, last, column)
            if match[1].split()[0].lower() in FIELDS:
                return self._enter_after(region, number, match.end(), end)
            return end
        if match := lines.match(_OPTION, number):
            return self._enter_after(region, number, match.end(), lines.until(number, last, column))
        if lines.match(_BAR, number):
            return self._line_block(region, number)
        if lines.match(_DOCTEST, number):
            return self._until_blank(number, last)
        if lines.match(_GRID, number):
            end = self._until_blank(number, last)
            return self._table(grid_table(lines, number, end), end)
        if lines.match(_SIMPLE, number):
            end = self._simple_table(number, last)
            return self._table(simple_table(lines, number, end), end)
        if match := lines.match(_EXPLICIT, number):
            return self._explicit(region, number, match.end())
        if lines.match(_ANONYMOUS, number):
            return lines.until(number, last, column)
        match = lines.match(RULE, number)
        after = self._rule(number, last, match) if match else None
        return after or self._text(region, number)

    def _item(self, region: _Region, number: int, place: int) -> int:
        """Take the item of a list."""
        lines = self.lines
        column = region.column + place - lines.begins[number]
        end = number + 1
        if place >= lines.ends[number]:
            column = region.column + 1
        while end < region.last and not 0 <= lines.columns[end] < column:
            end += 1
        lines.pass_marker(number, place, column)
        if lines.is_blank(number):
            column = lines.least_column(number, end, column)
        self._enter(region, number, end, column)
        return end

    def _is_item(self, region: _Region, number: int, place: int) -> bool:
        """Return whether a line is an item of a list, and no sentence that begins with a number."""
        after = number + 1
        if after >= region.last or self.lines.is_blank(after):
            return True
        if self.lines.columns[after] > region.column:
            return self.lines.columns[after] >= region.column + place - self.lines.begins[number]
        return self.lines.columns[after] < region.column or bool(self.lines.match(ENUMERATOR, after))

    def _until_blank(self, number: int, last: int) -> int:
        while number < last and not self.lines.is_blank(number):
            number += 1
        return number

    def _table(self, table: Table | None, end: int) -> int:
        """Take the paragraphs in the cells of a table; return the line after the table."""
        for row in table.rows if table else ():
            for cell in row if not isinstance(row, str) else ():
                self._cell(cell)
        if table:
            self.tables.append(table)
        return end

    def _cell(self, cell: Cell) -> None:
        is_literal = False
        for part in cell.parts() if cell.lines else ():
            texts = [self.lines.text[line.start : line.end] for line in part.lines]
            if not texts[0]:
                continue
            opened, is_literal = is_literal, texts[-1].endswith("::")
            is_block = any(begin.match(texts[0]) for begin in _BEGINNINGS) or any(map(RULE.match, texts))
            if not (opened or is_literal or is_block or any(part.margins)):
                self.blocks.append(part.block(self.lines.text))

    def _simple_table(self, number: int, last: int) -> int:
        """Return the line after a table: after a border that a blank line follows."""
        at = number + 1
        while at < last:
            is_end = at + 1 >= last or self.lines.is_blank(at + 1)
            if not self.lines.is_blank(at) and self.lines.match(_BORDER, at) and is_end:
                return at + 1
            at += 1
        return self._until_blank(number, last)

    def _line_block(self, region: _Region, number: int) -> int:
        """Take the lines of a verse or an address, each for itself."""
        lines = self.lines
        while number < region.last and lines.columns[number] == region.column:
            bar = lines.match(_BAR, number)
            if not bar:
                break
            end = number + 1
            while end < region.last and lines.columns[end] > region.column:
                end += 1
            lines.pass_marker(number, bar.end(), region.column)
            self._add("line", number, end)
            number = end
        return number

    def _rule(self, number: int, last: int, rule: re.Match[str]) -> int | None:
        """Take a title between two rules; skip a transition. None for a short line, which is text."""
        lines = self.lines
        below = number + 2
        if below < last and not lines.is_blank(number + 1) and not lines.is_blank(below):
            match = lines.match(RULE, below)
            if match and match[1] == rule[1]:
                self._add("title", number + 1, below, (Span(*rule.span()), Span(*match.span())))
                return below + 1
        return number + 1 if len(rule[0]) >= _SHORTEST_RULE else None

    def _text(self, region: _Region, number: int) -> int:
        """Take a title, a definition or a paragraph."""
        lines, last, column = self.lines, region.last, region.column
        end = lines.paragraph(number, last)
        rule = lines.match(RULE, number + 1) if end > number + 1 else None
        title = lines.text[lines.begins[number] : lines.ends[number]]
        if rule and (len(rule[0]) >= _SHORTEST_RULE or (rule[0] != "::" and len(rule[0]) >= width(title))):
            self._add("title", number, number + 1, (Span(*rule.span()),))
            return number + 2
        is_literal = lines.text.endswith("::", lines.begins[end - 1], lines.ends[end - 1])
        if end < last and lines.columns[end] > column and not is_literal:
            if end > number + 1:
                return end  # an error in the file: written on one line, it would become a term
            return self._definition(region, number)
        if is_literal:
            lines.ends[end - 1] -= 2
        if region.role == "quote" and (dash := lines.match(_ATTRIBUTION, number)):
            lines.begins[number] = dash.end()
        self._add("paragraph", number, end)
        return self._literal(end, last, column) if is_literal else end

    def _definition(self, region: _Region, number: int) -> int:
        lines = self.lines
        end = lines.until(number, region.last, region.column)
        if region.role != "terms":
            classifier = _CLASSIFIER.search(lines.text, lines.begins[number], lines.ends[number])
            if classifier:
                lines.ends[number] = classifier.start()
            self._add("term", number, number + 1)
        self._enter(region, number + 1, end, lines.least_column(number + 1, end, 0))
        return end

    def _literal(self, number: int, last: int, column: int) -> int:
        """Return the line after a literal block, indented or quoted."""
        lines = self.lines
        while number < last and lines.is_blank(number):
            number += 1
        if number < last and lines.columns[number] > column:
            return lines.until(number, last, column)
        sign = lines.text[lines.begins[number]] if number < last else ""
        if sign.isascii() and not sign.isalnum() and sign:
            while number < last and not lines.is_blank(number) and lines.text[lines.begins[number]] == sign:
                number += 1
        return number

    def _explicit(self, region: _Region, number: int, place: int) -> int:
        """Take a footnote or directive; skip a target, substitution or comment."""
        lines = self.lines
        end = lines.until(number, region.last, region.column)
        if place >= lines.ends[number] and (number + 1 >= region.last or lines.is_blank(number + 1)):
            return number + 1  # an empty comment, which ends a list
        for pattern in (_NOTE, _REPLACE):
            if match := pattern.match(lines.text, place, lines.ends[number]):
                return self._enter_after(region, number, match.end(), end)
        match = _DIRECTIVE.match(lines.text, place, lines.ends[number])
        if match:
            argument, content = DIRECTIVES.get(match[1].rpartition(":")[2].lower(), ("", ""))
            if argument == "version":
                version = _VERSION.match(lines.text, match.end(), lines.ends[number])
                return self._enter_after(region, number, version.end() if version else match.end(), end)
            if argument == "body":
                return self._enter_after(region, number, match.end(), end)
            if argument:
                self._directive(region, number, match.end(), end, argument, content)
        return end

    def _directive(
        self, region: _Region, number: int, place: int, end: int, argument: str, content: str
    ) -> None:
        """Take the argument, options and content of a directive."""
        lines = self.lines
        lines.pass_marker(number, place, region.column + 1)
        at = number + 1
        while at < end and not lines.is_blank(at) and not lines.match(_FIELD, at):
            at += 1
        if argument == "title":
            self._add("argument", number, at)
        while at < end and not lines.is_blank(at):
            option = lines.match(_FIELD, at)
            after = lines.until(at, end, lines.columns[at])
            after = min(after, self._until_blank(at, end))
            if option and option[1] in OPTIONS:
                lines.pass_marker(at, option.end(), lines.columns[at])
                self._add(OPTIONS[option[1]], at, after)
            at = after
        if content != "kept":
            self._enter(region, at, end, lines.least_column(at, end, 0), content)
