"""Runs of a paragraph of Word's, collected from the events of its XML (ECMA-376, part 1, sec. 17.3)."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from multihead.documents.markup import Kind
from multihead.documents.splice import Span
from multihead.documents.xml_events import Event

WRAPPERS = frozenset(("hyperlink", "smartTag", "ins", "moveTo", "customXml", "dir", "bdo"))
"""Elements around runs, whose text is translated."""

_DROPPED = frozenset(("proofErr", "lastRenderedPageBreak"))
"""Marks of a text as it was, left out of a paragraph that is translated."""
_LETTERS = {"noBreakHyphen": "\u2011", "softHyphen": "\u00ad"}
_UNSEEN = re.compile(
    rb"""<(?:\w+:)?(?:lang|noProof|webHidden)\b[^>]*/>|<(?:\w+:)?rFonts\s+(?:\w+:)?hint=["']\w*["']\s*/>"""
)
"""Properties that Word changes within a word, and nobody sees."""
_EMPTY = re.compile(rb"<(?:\w+:)?rPr\s*(?:/>|>\s*</(?:\w+:)?rPr\s*>)")
_SPACE = re.compile(r"[\t\n\r ]+")


class Fragment(NamedTuple):
    """Text, or a span of the file, and the properties of the run it needs around it, None if none."""

    content: Span | str
    properties: bytes | None


@dataclass
class Entry:
    """A text, a code, or the start or end of an element around runs, in the order of the file."""

    kind: Kind | None
    """None for a text."""
    name: str
    fragments: list[Fragment]
    says: str = ""
    """``begin``, ``separate`` or ``end`` of a field, or the instruction in it."""
    base: bytes = b""
    """Of the start of an element: the properties that most of its text has."""

    @property
    def text(self) -> str:
        """Its text, "" for a code."""
        content = self.fragments[0].content
        return content if self.kind is None and isinstance(content, str) else ""

    @property
    def look(self) -> bytes:
        """The properties of its run that are seen."""
        properties = _UNSEEN.sub(b"", self.fragments[0].properties or b"")
        return b"" if _EMPTY.fullmatch(properties) else properties


class Paragraph:
    """A paragraph while its events come in; elements that are no text are taken whole."""

    def __init__(self, start: Event, data: bytes) -> None:
        self.prefix = start.raw[1 : start.raw.index(b"p")]
        """The namespace prefix of Word's elements, with its colon."""
        self.begin = start.span.end
        """Where its content begins, behind its properties."""
        self.entries: list[Entry] = []
        self._data = data
        self._whole: tuple[Event, int] | None = None
        """The element that is taken whole, and its depth."""
        self._run: bytes | None = None
        """The properties of the run, None outside of one."""
        self._text: Event | None = None
        self._controls: list[int] = []
        """Where content controls begin whose content does not yet."""

    @property
    def takes_whole(self) -> bool:
        """True inside an element that is taken whole."""
        return self._whole is not None

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
        elif name == "t" and not outside:
            self._text = event
        else:
            self._whole = event, depth

    def text(self, event: Event) -> None:
        """Take text, which counts inside of ``<w:t>`` alone."""
        if self._text is None or self._whole:
            return
        keeps = self._text.attributes.get("space") == "preserve"
        text = re.sub(r"[\t\n\r]", " ", event.text) if keeps else _SPACE.sub(" ", event.text)
        self.entries.append(Entry(None, "", [Fragment(text, self._run)]))

    def end(self, event: Event, depth: int) -> None:
        """Take the end of an element."""
        name = event.name
        if self._whole:
            if depth == self._whole[1]:
                self._end_whole(event)
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

    def _add(self, kind: Kind, name: str, span: Span, says: str = "") -> None:
        properties = self._run if kind == "alone" else None
        self.entries.append(Entry(kind, name, [Fragment(span, properties)], says))

    def _end_whole(self, end: Event) -> None:
        assert self._whole
        (start, _), self._whole = self._whole, None
        span = Span(start.span.start, end.span.end)
        name = start.name
        if name == "pPr" and not self.entries:
            self.begin = span.end
        elif name == "rPr" and self._run is not None:
            self._run = self._data[slice(*span)]
        elif name in _LETTERS:
            self.entries.append(Entry(None, "", [Fragment(_LETTERS[name], self._run)]))
        elif name not in _DROPPED and not self._controls:
            says = start.attributes.get("fldCharType", "") if name == "fldChar" else ""
            if name == "instrText":
                says = self._data[slice(*span)].decode(errors="replace")
            self._add("alone", name, span, says)
