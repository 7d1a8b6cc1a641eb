"""PowerPoint presentations (.pptx): text of slides, tables, SmartArt and notes, slide by slide."""

from multihead.documents.drawing import DrawingParagraph, is_paragraph
from multihead.documents.office_package import OfficeDocument
from multihead.documents.xml_events import Event

_OF_SLIDES = ("diagramData", "diagramDrawing", "notesSlide")
"""Kinds of parts with text that belong to a slide. PowerPoint shows SmartArt from a drawing of its data."""


class Presentation(OfficeDocument):
    """A PowerPoint presentation. Masters and layouts, which hold the prompts of placeholders, are kept."""

    kind = "pptx"

    def _text_parts(self) -> list[str]:
        main = self._main_part(("presentationml", "ms-powerpoint"), "slides", "PowerPoint")
        names: list[str] = []
        for slide in dict.fromkeys(slide for _, slide in self._listed(main, "sldId", "slide")):
            names += [slide, *self._targets(slide, _OF_SLIDES)]
        return list(dict.fromkeys(names))

    def _opened(self, event: Event, data: bytes) -> DrawingParagraph | None:
        if not is_paragraph(event):
            return None
        self._refuse_other_encodings(data, "PowerPoint")
        return DrawingParagraph(event, data)
