"""Word documents (.docx): body text, tables, headers, footers, notes, text boxes and charts."""

from collections.abc import Iterator

from multihead_documents.office import word_direction
from multihead_documents.office.archive_document import OpenParagraph
from multihead_documents.office.content import Content, content_of
from multihead_documents.office.package import SHOWN, OfficeDocument
from multihead_documents.office.runs import Paragraph
from multihead_documents.splice import Span
from multihead_documents.xml.events import Event

_TYPES = ("header+xml", "footer+xml", "footnotes+xml", "endnotes+xml")
_WORD = ("wordprocessingml/2006/main", "ooxml/wordprocessingml/main")


class WordContent(Content):
    """The content of a paragraph of a Word document, whose runs name their direction."""

    def _run(self, content: Span | str | bytes, properties: bytes | None) -> Iterator[bytes | Span]:
        if properties is not None and isinstance(content, bytes):
            properties = word_direction.direct(properties, content, self.prefix)
        return super()._run(content, properties)


class WordParagraph(Paragraph):
    """A paragraph of a Word document."""

    def content(self, end: int, place: str) -> Content | None:
        """Return its content at its end; None if it has no text."""
        return content_of(self, end, place, WordContent)


class WordDocument(OfficeDocument):
    """A Word document. Styles, images, link targets and comments are kept, and never opened."""

    kind = "docx"
    program = "Word"

    def _text_parts(self) -> list[str]:
        main = self._main_part(("wordprocessingml", "ms-word"), "text")
        others = [name for name in self._archive.names if self._types.get(name, "").endswith(_TYPES)]
        return list(dict.fromkeys([main, *self._targets(main, SHOWN), *others]))

    def _turn(self, name: str, part: bytes, right_to_left: bool) -> bytes:
        if name not in self._parts:
            return part
        return word_direction.turn(super()._turn(name, part, right_to_left), right_to_left)

    def _begin_paragraph(self, event: Event, data: bytes) -> OpenParagraph | None:
        if event.name != "p" or not event.space.endswith(_WORD):
            return super()._begin_paragraph(event, data)
        self._refuse_other_encodings(data)
        return WordParagraph(event, data)
