"""OpenDocument texts (.odt): body text, tables, notes, frames, headers and footers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from multihead_documents.errors import DocumentError
from multihead_documents.inline import Inline, Item, pair_tags, parts, trim
from multihead_documents.markup import Kind, Markup, Tag
from multihead_documents.office.archive_document import ArchiveDocument
from multihead_documents.splice import Span
from multihead_documents.xml.events import Event, escape, xml_encoding

_TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
_SVG = "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:"
_ALTERNATIVES = frozenset(("title", "desc"))
_CONTAINERS = frozenset(("span", "a", "meta"))
_SPACES = frozenset(("s", "tab", "line-break"))
_LOOSE = frozenset(
    (
        *("bookmark", "bookmark-start", "bookmark-end", "reference-mark-start", "reference-mark-end", "note"),
        *("change-start", "change-end", "soft-page-break", "annotation", "annotation-end", "frame"),
        *("tab", "line-break"),
    )
)
"""Codes that are left out of a segment at its ends."""
_HIDDEN = frozenset(("tracked-changes", "annotation"))
"""Elements whose paragraphs are not body text."""
_KINDS = {"text": "odt", "presentation": "odp", "spreadsheet": "ods"}
"""Our format of an OpenDocument media type."""
_PART = re.compile(r"[\t\n\r ]+|[^\t\n\r ]+(?: [^\t\n\r ]+)*")


@dataclass
class OdtContent:
    """The content of a paragraph that has text."""

    inline: Inline
    encoding: str

    @property
    def span(self) -> Span:
        """The core's span."""
        return self.inline.span

    def parts(self, translation: Markup) -> list[bytes | Span]:
        """Return the escaped texts of a translation, and the spans of its tags."""
        return parts(translation.collapsed(), self.inline.tags, self._escape)

    def _escape(self, text: str) -> bytes:
        return escape(text).encode(self.encoding, "xmlcharrefreplace")


class OdtParagraph:
    """A paragraph that is still being parsed."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._items: list[Item] = []
        self._opaque: tuple[Event, int] | None = None

    @property
    def in_opaque(self) -> bool:
        """True inside an opaque element, such as a note."""
        return self._opaque is not None

    def start(self, event: Event, depth: int) -> None:
        """Take the start of an element."""
        if event.name in _CONTAINERS and event.space == _TEXT and not event.empty:
            self._tag(event, event.span, "open")
        else:
            self._opaque = event, depth

    def end(self, event: Event, depth: int) -> None:
        """Take the end of an element."""
        if self._opaque is None:
            self._tag(event, event.span, "close")
        elif self._opaque[1] == depth:
            start, self._opaque = self._opaque[0], None
            span = Span(start.span.start, event.span.end)
            if start.name == "s" and start.space == _TEXT:
                self._items.append(Item(" ", span))
            else:
                self._tag(start, span, "alone")

    def text(self, event: Event) -> None:
        """Take a text; white space is collapsed."""
        if self._opaque:
            return
        if event.text.encode(self._encoding) != event.raw:
            self._items.append(Item(event.text, event.span))
            return
        place = event.span.start
        for part in _PART.findall(event.text):
            end = place + len(part.encode(self._encoding))
            self._items.append(Item(part if part.strip("\t\n\r ") else " ", Span(place, end)))
            place = end

    def content(self, end: int, place: str) -> OdtContent | None:
        """Return its content at its end; None if it has no text."""
        inline = trim(
            pair_tags(self._items),
            place,
            loose=lambda tag: tag.name in _LOOSE,
            size=lambda text: len(text.encode(self._encoding)),
        )
        return OdtContent(inline, self._encoding) if inline else None

    def _tag(self, event: Event, span: Span, kind: Kind) -> None:
        text = " " if event.name in _SPACES else ""
        raw = event.raw.decode(self._encoding, "replace")
        self._items.append(Item(Tag("", kind, event.name, raw, text), span))


class OpenDocument(ArchiveDocument):
    """An OpenDocument text. Styles, images, link targets, comments and tracked changes are kept."""

    kind = "odt"
    parts: Sequence[str] = ("content.xml", "styles.xml")
    """Members with text; headers and footers of pages are styles."""

    def _text_parts(self) -> list[str]:
        manifest = "META-INF/manifest.xml"
        if manifest in self._archive and b":encryption-data" in self._archive.read(manifest):
            raise DocumentError("encrypted", place=str(self.path), remedy="Save it without a password.")
        if "content.xml" not in self._archive:
            remedy = "Is it an OpenDocument file? If so, save it again in the program that made it."
            raise DocumentError("no content.xml in it", place=str(self.path), remedy=remedy)
        self._check_type()
        return [name for name in self.parts if name in self._archive]

    def _check_type(self) -> None:
        """Refuse an OpenDocument file of another kind: numbers of a sheet, for one, are text in a letter."""
        if "mimetype" not in self._archive:
            return
        match = re.match(rb"application/vnd\.oasis\.opendocument\.([a-z]+)", self._archive.read("mimetype"))
        named = _KINDS.get(match[1].decode()) if match else None
        if named and named != self.kind:
            fact = f"an OpenDocument file of another kind, .{named}"
            raise DocumentError(fact, place=str(self.path), remedy=f"Give it a name that ends in .{named}.")

    def _hides(self, event: Event) -> bool:
        return event.name in _HIDDEN

    def _begin_paragraph(self, event: Event, data: bytes) -> OdtParagraph | None:
        is_alternative = event.name in _ALTERNATIVES and event.space.startswith(_SVG)
        if not (is_alternative or (event.name in ("p", "h") and event.space == _TEXT)):
            return None
        return OdtParagraph(xml_encoding(data))
