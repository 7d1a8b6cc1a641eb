"""Word documents (.docx): body text, tables, headers, footers, notes and text boxes."""

from multihead.documents.archive_document import ArchiveDocument
from multihead.documents.docx_content import Content, content_of
from multihead.documents.docx_runs import Paragraph
from multihead.documents.xml_events import Event, xml_encoding
from multihead.errors import UserError

_TYPES = (
    "document.main+xml",
    "template.main+xml",
    "header+xml",
    "footer+xml",
    "footnotes+xml",
    "endnotes+xml",
)
_WORD = ("wordprocessingml/2006/main", "ooxml/wordprocessingml/main")


class WordParagraph(Paragraph):
    """A paragraph of a Word document."""

    def content(self, end: int, place: str) -> Content | None:
        """Return its content at its end; None if it has no text."""
        return content_of(self, end, place)


class WordDocument(ArchiveDocument):
    """A Word document. Styles, images, link targets and comments are kept, and never opened."""

    kind = "docx"

    def _text_parts(self) -> list[str]:
        found = {
            attributes.get("PartName", "").lstrip("/"): attributes.get("ContentType", "")
            for attributes in self._attributes("[Content_Types].xml", "Override")
        }
        names = [
            name
            for name in self._archive.names
            if found.get(name, "").endswith(_TYPES)
            or "word.document.macroEnabled.main" in found.get(name, "")
        ]
        main = [name for name in names if ".main" in found[name]]
        if not main:
            remedy = "Is it a document of Word's? If so, save it again there."
            raise UserError("no text of Word's in it", place=str(self.path), remedy=remedy)
        return [*main, *(name for name in names if name not in main)]

    def _opened(self, event: Event, data: bytes) -> WordParagraph | None:
        if event.name != "p" or not event.space.endswith(_WORD):
            return None
        if not xml_encoding(data).lower().startswith("utf-8"):
            raise UserError("not UTF-8", place=str(self.path), remedy="Save it again in Word.")
        return WordParagraph(event, data)
