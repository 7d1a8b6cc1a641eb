"""reStructuredText (.rst): pages of Sphinx and docutils."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from multihead_documents.inline import Inline, pair_tags, trim
from multihead_documents.markup import Markup
from multihead_documents.reading import Text, newline
from multihead_documents.rst.blocks import blocks
from multihead_documents.rst.inline import inline_items
from multihead_documents.rst.lines import Block
from multihead_documents.rst.references import Titles, by_name, show, target
from multihead_documents.rst.spelling import spell
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.subtitles.line_wrapping import width
from multihead_documents.text_document import TextDocument


class ReStructuredText(TextDocument):
    """A page of reStructuredText. Its segments are paragraphs, titles, terms and captions, each on one line.

    Code, targets, comments, unknown directives and tables with cells that span others are kept.
    """

    kind = "rst"

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path, text)
        self._contents: list[tuple[Block, Inline]] = []
        parsed, self._tables = blocks(text.text)
        for block in parsed:
            place = text.place(block.places[0])
            inline = trim(pair_tags(inline_items(block)), place)
            if inline:
                self._contents.append((block, inline))
                self._add(Segment(len(self.segments), inline.markup.collapsed(), place))
        contents = zip(self._contents, self.segments, strict=True)
        self._titles = Titles(text.text, [(block, segment.source) for (block, _), segment in contents])

    def note_links(self, places: Iterable[str]) -> None:
        """Take note of titles that other documents refer to."""
        self._titles.note_links(places)

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        text = self._text.text
        moved = self._move(translations)
        titles = by_name(moved.values())
        cells: dict[int, str] = {}
        for number, new in translations.items():
            block, inline = self._contents[number]
            new_text = spell(show(new.target, titles), block.kind)
            whole = block.span(0, len(block.content))
            line = f"{text[whole.start : inline.span.start]}{new_text}{text[inline.span.end : whole.end]}"
            if block.kind == "cell":
                cells[whole.start] = line
                continue
            if number in moved:
                yield target(block, moved[number][0], newline(text))
            yield Edit(inline.span, [new_text])
            for rule in block.rules:
                yield Edit(rule, [text[rule.start] * _rule_length(rule, block, width(line))])
        places = sorted(cells)
        for table in self._tables:
            if bisect_left(places, table.span.start) < bisect_left(places, table.span.end):
                yield Edit(table.span, [table.draw(text, cells, newline(text))])

    def _move(self, translations: Mapping[int, Translation]) -> dict[int, tuple[Markup, Markup]]:
        """Return the titles, old and new, that references of the page no longer find."""
        return {
            number: (self.segments[number].source, new.target)
            for number, new in translations.items()
            if self._contents[number][0].kind == "title"
            and self._titles.is_moved(self.segments[number].source, new.target)
        }


def _rule_length(rule: Span, block: Block, title: int) -> int:
    """Return the length of a line above or below a title of this width."""
    length = rule.end - rule.start
    spare = length - width(block.content)
    # A title between two lines may stand out of them by a column on each side.
    return title + spare if 0 <= spare <= 2 * (len(block.rules) - 1) else max(title, length)
