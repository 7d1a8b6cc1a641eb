"""OpenDocument presentations (.odp): text of slides, tables and notes, headers and footers."""

from multihead_documents.office.odt import OdtParagraph, OpenDocument
from multihead_documents.xml.events import Event, xml_encoding

_PRESENTATION = "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"
_DECLARED = frozenset(("header-decl", "footer-decl"))
"""Texts that slides show in the fields of their master."""


class OpenPresentation(OpenDocument):
    """An OpenDocument presentation. Its masters, which hold the prompts of placeholders, are kept."""

    kind = "odp"
    parts = ("content.xml",)

    def _begin_paragraph(self, event: Event, data: bytes) -> OdtParagraph | None:
        if event.name in _DECLARED and event.space == _PRESENTATION:
            return OdtParagraph(xml_encoding(data))
        return super()._begin_paragraph(event, data)
