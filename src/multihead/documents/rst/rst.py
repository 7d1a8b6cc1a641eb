"""reStructuredText (.rst): pages of Sphinx and docutils."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from multihead.documents.inline import Inline, paired, trimmed
from multihead.documents.reading import Text
from multihead.documents.rst.blocks import blocks
from multihead.documents.rst.inline import inline_items
from multihead.documents.rst.lines import Block
from multihead.documents.rst.spelling import spelled
from multihead.documents.segment import Segment, Translation
from multihead.documents.splice import Edit, Span
from multihead.documents.subtitles.line_wrapping import width
from multihead.documents.text_document import TextDocument

MAX_RST_BYTES = 8 << 20
"""Size limit of a file."""


class ReStructuredText(TextDocument):
    """A page of reStructuredText. Its segments are paragraphs, titles, terms and captions, each on one line.

    Code, tables, targets, comments and unknown directives are kept.
    """

    kind = "rst"

    def __init__(self, path: Path, text: Text) -> None:
        super().__init__(path, text)
        self._contents: list[tuple[Block, Inline]] = []
        for block in blocks(text.text):
            place = text.place(block.places[0])
            inline = trimmed(paired(inline_items(block)), place)
            if inline:
                self._contents.append((block, inline))
                self._add(Segment(len(self.segments), inline.markup.collapsed(), place))

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        text = self._text.text
        for number, new in translations.items():
            block, inline = self._contents[number]
            new_text = spelled(new.target, block.kind)
            yield Edit(inline.span, [new_text])
            line = block.span(0, len(block.content))
            before, after = text[line.start : inline.span.start], text[inline.span.end : line.end]
            for rule in block.rules:
                length = _rule_length(rule, block, width(f"{before}{new_text}{after}"))
                yield Edit(rule, [text[rule.start] * length])


def _rule_length(rule: Span, block: Block, title: int) -> int:
    """Return the length of a line above or below a title of this width."""
    length = rule.end - rule.start
    spare = length - width(block.content)
    # A title between two lines may stand out of them by a column on each side.
    return title + spare if 0 <= spare <= 2 * (len(block.rules) - 1) else max(title, length)
