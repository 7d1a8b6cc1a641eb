"""OpenDocument spreadsheets (.ods): cells of text, text boxes, headers and footers."""

import re

from multihead_documents.office.archive_document import OpenParagraph
from multihead_documents.office.odt import OpenDocument
from multihead_documents.office.xlsx_cells import FORMULA_TEXT
from multihead_documents.splice import Edit
from multihead_documents.xml.events import Event, xml_encoding

_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
_CELLS = frozenset(("table-cell", "covered-table-cell"))
_VALUE = re.compile(r"""\s[^\s=<>"'/:]+:string-value\s*=\s*("[^"]*"|'[^']*')""")
"""The text of a cell as an attribute, which precedes its paragraphs (OpenDocument 1.3, part 3, 19.387)."""


class OpenSpreadsheet(OpenDocument):
    """An OpenDocument spreadsheet. Numbers, dates, formulas and their results, and sheet names are kept."""

    kind = "ods"
    _cell: Event | None = None
    """The cell that is being read."""

    def _enter(self, event: Event) -> None:
        if event.name in _CELLS and event.space == _TABLE:
            self._cell = event
            if FORMULA_TEXT.search(event.attributes.get("formula", "")):
                note = str(self.path), "the text in its formulas is not translated"
                self.notes += [note] if note not in self.notes else []

    def _hides(self, event: Event) -> bool:
        if event.name in _CELLS and event.space == _TABLE:
            return event.attributes.get("value-type", "string") != "string" or "formula" in event.attributes
        return super()._hides(event)

    def _add_paragraph(self, name: str, paragraph: OpenParagraph, end: Event, count: int) -> None:
        number = len(self.segments)
        super()._add_paragraph(name, paragraph, end, count)
        if len(self.segments) > number and self._cell and "string-value" in self._cell.attributes:
            encoding = xml_encoding(self._parts[name])
            tag = _VALUE.sub("", self._cell.raw.decode(encoding, "replace"))
            self._companions[number] = name, Edit(self._cell.span, [tag.encode(encoding)])
