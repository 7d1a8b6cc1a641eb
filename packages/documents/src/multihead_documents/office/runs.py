"""Runs of a paragraph of Word, PowerPoint or Excel (ECMA-376, part 1, sec. 17.3, 21.1.2 and 18.4)."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from multihead_documents.markup import Kind
from multihead_documents.splice import Span
from multihead_documents.xml.document import prefix_of
from multihead_documents.xml.events import Event

WRAPPERS = frozenset(("hyperlink", "smartTag", "ins", "moveTo", "customXml", "dir", "bdo"))
"""Elements around runs whose text is translated."""

_DROPPED = frozenset(("proofErr", "lastRenderedPageBreak", "rPh", "phoneticPr"))
"""Markers that only fit the original text, such as furigana; dropped from a translated paragraph."""
_LETTERS = {"noBreakHyphen": "\u2011", "softHyphen": "\u00ad"}
_INVISIBLE = re.compile(
    rb"""<(?:\w+:)?(?:lang|noProof|webHidden)\b[^>]*/>|<(?:\w+:)?rFonts\s+(?:\w+:)?hint=["']\w*["']\s*/>"""
    rb"""|\s(?:lang|altLang|dirty|err|smtClean|noProof|bmk)=(?:"[^"]*"|'[^']*')"""
)
"""Run properties without visible effect, which Office changes within a word."""
_EMPTY = re.compile(rb"<(?:\w+:)?rPr\s*(?:/>|>\s*</(?:\w+:)?rPr\s*>)")
_SPACE = re.compile(r"[\t\n\r ]+")


class Fragment(NamedTuple):
    """Text or a span of the file, and the properties of its run; None outside of runs."""

    content: Span | str | bytes
    """Bytes are what the file has in an element of text."""
    properties: bytes | None


@dataclass
class Entry:
    """A text, a code, or the start or end of a wrapper, in document order."""

    kind: Kind | None
    """None for a text."""
    name: str
    fragments: list[Fragment]
    field: str = ""
    """``begin``, ``separate``, ``end`` of a field, or its instruction."""
    base: bytes = b""
    """Run properties of most of the text in a wrapper that starts here."""

    @property
    def text(self) -> str:
        """Its text, "" for a code."""
        content = self.fragments[0].content
        return content if self.kind is None and isinstance(content, str) else ""

    @property
    def visible(self) -> bytes:
        """Run properties with visible effect."""
        properties = _INVISIBLE.sub(b"", self.fragments[0].properties or b"")
        return b"" if _EMPTY.fullmatch(properties) else properties


class Paragraph:
    """A paragraph that is still being parsed. Elements other than runs and wrappers are opaque."""

    keeps_space = False
    """True if white space counts without ``xml:space``."""
    codes: re.Pattern[str] | None = None
    """Characters of texts that are codes, such as tabs."""

    def __init__(self, start: Event, data: bytes) -> None:
        self.prefix = prefix_of(start.raw.decode()).encode()
        """Namespace prefix of WordprocessingML, with the colon."""
        self.begin = start.span.end
        """Offset of its content, after its properties."""
        self.entries: list[Entry] = []
        self._data = data
        self._opaque: tuple[Event, int] | None = None
        """The opaque element that is open, and its depth."""
        self._run: bytes | None = None
        """Properties of the open run, None outside of runs."""
        self._text: Event | None = None
        self._controls: list[int] = []
        """Offsets of content controls whose content has not started."""

    @property
    def in_opaque(self) -> bool:
        """True inside an opaque element."""
        return self._opaque is not None

    def start(self, event: Event, depth: int) -> None:
        """Take the start of an element."""
        name, outside = event.name, self._run is None
        if name == "r" and outside:
            self._run = b""
        elif name in WRAPPERS and outside:
            self._add("open", name, event.span)
        elif name == "sdt" and outside:
            self._controls.append(event.span.start)
        elif name == "sdtContent" and self._controls:
            self._add("open", "sdt", Span(self._controls.pop(), event.span.end))
        elif name == "t" and (not outside or self._holds_text()):
            self._text = event
        else:
            self._opaque = event, depth

    def text(self, event: Event) -> None:
        """Take text; only ``<w:t>`` holds any."""
        if self._text is None or self._opaque:
            return
        keeps = self.keeps_space or self._text.attributes.get("space") == "preserve"
        place = 0
        for code in self.codes.finditer(event.text) if self.codes else ():
            self._add_text(event.text[place : code.start()], keeps)
            self._add_code(code[0])
            place = code.end()
        self._add_text(event.text[place:], keeps)

    def _add_text(self, text: str, keeps: bool) -> None:
        text = re.sub(r"[\t\n\r]", " ", text) if keeps else _SPACE.sub(" ", text)
        if text:
            self.entries.append(Entry(None, "", [Fragment(text, self._run)]))

    def _add_code(self, code: str) -> None:
        """Take characters of a text that are a code."""
        name = {"\n": "br", "\t": "tab"}.get(code, "")
        self.entries.append(Entry("alone", name, [Fragment(code.encode(), self._run)]))

    def _holds_text(self) -> bool:
        """Return True if the paragraph itself may hold text, without runs."""
        return False

    def end(self, event: Event, depth: int) -> None:
        """Take the end of an element."""
        name = event.name
        if self._opaque:
            if depth == self._opaque[1]:
                self._end_opaque(event)
        elif name == "r":
            self._run = None
        elif name == "t":
            self._text = None
        elif name in WRAPPERS:
            self._add("close", name, event.span)
        elif name == "sdtContent":
            self._add("close", "sdt", event.span)
        elif name == "sdt" and self._controls:
            self._add("alone", "sdt", Span(self._controls.pop(), event.span.end))  # it has no content
        elif name == "sdt" and self.entries and self.entries[-1].kind == "close":
            content = self.entries[-1].fragments[0].content
            if isinstance(content, Span):
                self.entries[-1].fragments = [Fragment(Span(content.start, event.span.end), None)]

    def _add(self, kind: Kind, name: str, span: Span, field: str = "") -> None:
        properties = self._run if kind == "alone" else None
        self.entries.append(Entry(kind, name, [Fragment(span, properties)], field))

    def _end_opaque(self, end: Event) -> None:
        assert self._opaque
        (start, _), self._opaque = self._opaque, None
        span = Span(start.span.start, end.span.end)
        name = start.name
        if name == "pPr" and not self.entries:
            self.begin = span.end
        elif name == "rPr" and self._run is not None:
            self._run = self._data[slice(*span)]
        elif name in _LETTERS:
            self.entries.append(Entry(None, "", [Fragment(_LETTERS[name], self._run)]))
        elif name not in _DROPPED and not self._controls:
            field = start.attributes.get("fldCharType", "") if name == "fldChar" else ""
            if name == "instrText":
                field = self._data[slice(*span)].decode(errors="replace")
            self._add("alone", name, span, field)
