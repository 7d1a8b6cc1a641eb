"""PowerPoint presentations (.pptx): text of slides, tables, SmartArt, charts and notes, slide by slide."""

from multihead_documents.office.package import SHOWN, OfficeDocument


class Presentation(OfficeDocument):
    """A PowerPoint presentation. Masters and layouts, which hold the prompts of placeholders, are kept."""

    kind = "pptx"
    program = "PowerPoint"

    def _text_parts(self) -> list[str]:
        main = self._main_part(("presentationml", "ms-powerpoint"), "slides")
        names: list[str] = []
        for slide in dict.fromkeys(slide for _, slide in self._list(main, "sldId", "slide")):
            names += [slide, *self._targets(slide, (*SHOWN, "notesSlide"))]
        return list(dict.fromkeys(names))
