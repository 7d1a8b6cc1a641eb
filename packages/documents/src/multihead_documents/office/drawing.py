"""Paragraphs of shapes in Office documents (DrawingML)."""

import re

from multihead_documents.office.content import Content, content_of
from multihead_documents.office.runs import Paragraph
from multihead_documents.xml.events import Event

_DRAWING = ("drawingml/2006/main", "ooxml/drawingml/main")


class DrawingContent(Content):
    """The content of a paragraph of a shape."""

    def _attributes(self, text: bytes) -> bytes:
        return b""


class DrawingParagraph(Paragraph):
    """A paragraph of a shape (ECMA-376, part 1, sec. 21.1.2.2.6). Links are properties of runs."""

    keeps_space = True
    codes = re.compile(r"\t|_x00[01][0-9A-Fa-f]_")

    def content(self, end: int, place: str) -> DrawingContent | None:
        """Return its content at its end; None if it has no text."""
        return content_of(self, end, place, DrawingContent)


def is_paragraph(event: Event) -> bool:
    """Return True for the start of a paragraph of a shape."""
    return event.name == "p" and event.space.endswith(_DRAWING)
