"""reStructuredText (.rst): pages of Sphinx and docutils."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path

from multihead.documents.inline import Inline, paired, trimmed
from multihead.documents.reading import Text, newline
from multihead.documents.rst.blocks import blocks
from multihead.documents.rst.inline import inline_items
from multihead.documents.rst.lines import Block
from multihead.documents.rst.references import Titles, by_name, shown, target
from multihead.documents.rst.spelling import spelled
from multihead.documents.segment import Segment, Translation
from multihead.documents.splice import Edit, Span
from multihead.documents.subtitles.line_wrapping import width
from multihead.documents.text_document import TextDocument

MAX_RST_BYTES = 8 << 20
"""Size limit of a file."""


class ReStructuredText(TextDocument):
    """A page of reStructuredText. Its segments are paragraphs, titles, terms and captions, each on one line.

    Code, targets, comments, unknown directives and tables with cells that span others are kept.
    """

    kind = "rst"

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path, text)
        self._contents: list[tuple[Block, Inline]] = []
        found, self._tables = blocks(text.text)
        for block in found:
            place = text.place(block.places[0])
            inline = trimmed(paired(inline_items(block)), place)
            if inline:
                self._contents.append((block, inline))
                self._add(Segment(len(self.segments), inline.markup.collapsed(), place))
        sources = (segment.source for segment in self.segments)
        blocks_read = (block for block, _ in self._contents)
        self._titles = Titles(text.text, list(zip(blocks_read, sources, strict=True)))

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        text = self._text.text
        cells: dict[int, str] = {}
        moved = {
            number: (self.segments[number].source, new.target)
            for number, new in translations.items()
            if self._contents[number][0].kind == "title"
            and self._titles.moved(self.segments[number].source, new.target)
        }
        titles = by_name(moved.values())
        for number, new in translations.items():
            block, inline = self._contents[number]
            new_text = spelled(shown(new.target, titles), block.kind)
            if number in moved:
                yield target(block, moved[number][0], newline(text))
            if block.kind == "cell":
                whole = block.span(0, len(block.content))
                before, after = text[whole.start : inline.span.start], text[inline.span.end : whole.end]
                cells[whole.start] = f"{before}{new_text}{after}"
                continue
            yield Edit(inline.span, [new_text])
            line = block.span(0, len(block.content))
            before, after = text[line.start : inline.span.start], text[inline.span.end : line.end]
            for rule in block.rules:
                length = _rule_length(rule, block, width(f"{before}{new_text}{after}"))
                yield Edit(rule, [text[rule.start] * length])
        places = sorted(cells)
        for table in self._tables:
            if bisect_left(places, table.span.start) < bisect_left(places, table.span.end):
                yield Edit(table.span, [table.drawn(text, cells, newline(text))])


def _rule_length(rule: Span, block: Block, title: int) -> int:
    """Return the length of a line above or below a title of this width."""
    length = rule.end - rule.start
    spare = length - width(block.content)
    # A title between two lines may stand out of them by a column on each side.
    return title + spare if 0 <= spare <= 2 * (len(block.rules) - 1) else max(title, length)
