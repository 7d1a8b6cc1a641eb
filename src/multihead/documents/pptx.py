"""PowerPoint presentations (.pptx): text of slides, tables, SmartArt and notes, slide by slide."""

import re

from multihead.documents.office_content import Content, content_of
from multihead.documents.office_package import OfficeDocument
from multihead.documents.office_runs import Paragraph
from multihead.documents.xml_events import Event

_DRAWING = ("drawingml/2006/main", "ooxml/drawingml/main")
_OF_SLIDES = ("diagramData", "diagramDrawing", "notesSlide")
"""Kinds of parts with text that belong to a slide. PowerPoint shows SmartArt from a drawing of its data."""


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


class Presentation(OfficeDocument):
    """A PowerPoint presentation. Masters and layouts, which hold the prompts of placeholders, are kept."""

    kind = "pptx"

    def _text_parts(self) -> list[str]:
        main = self._main_part(("presentationml", "ms-powerpoint"), "slides", "PowerPoint")
        names: list[str] = []
        for slide in self._listed(main, "sldId", "slide"):
            names.append(slide)
            related = self._related(slide).values()
            names += [target for kind in _OF_SLIDES for found, target in related if found == kind]
        return list(dict.fromkeys(names))

    def _opened(self, event: Event, data: bytes) -> DrawingParagraph | None:
        if event.name != "p" or not event.space.endswith(_DRAWING):
            return None
        self._refuse_other_encodings(data, "PowerPoint")
        return DrawingParagraph(event, data)
