"""Base class of string files in XML that hold one language (Android, .NET)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from multihead_documents.errors import DocumentError
from multihead_documents.inline import Inline, Item, parts, trim
from multihead_documents.markup import Markup
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.xml.document import Parts, XmlDocument
from multihead_documents.xml.events import Event, xml_events
from multihead_documents.xml.inline import Element, Vocabulary, collect

PLAIN = Vocabulary(containers=(), opening={}, closing={}, ids=())
"""Texts without inline markup."""
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_NOT_RAW = re.compile("[\r\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that a CDATA section does not hold."""
MAX_NOTE = 2000
"""Length limit of a note; the end is kept."""


class Addition(NamedTuple):
    """Offset at which a translation is added, and the markup around it."""

    offset: int
    before: bytes
    after: bytes


class String(NamedTuple):
    """A translatable text: its element, its content, and whether all of it is in CDATA sections.

    With an addition, the translation does not replace the text but is a plural form that the file lacks.
    """

    element: Element
    inline: Inline
    cdata: bool
    addition: Addition | None = None


class XmlStrings(XmlDocument):
    """A file of named strings. Translations replace the texts of their elements."""

    def __init__(self, path: Path, data: bytes) -> None:
        super().__init__(path, data)
        self._strings: list[String] = []
        self._root: Event | None = None

    def _children(self, root: str, remedy: str) -> Iterator[tuple[Element, str]]:
        """Yield the elements below the root, each with the comments directly above it.

        Raises:
            DocumentError: malformed XML, or another root element; ``remedy`` says what to do then.
        """
        path = str(self.path)
        events = xml_events([self._data], path)
        above: list[Event] = []
        for event in events:
            if event.kind != "start":
                ends = event.kind == "end" or (event.kind == "text" and event.text.strip())
                above = [] if ends else [*above, event][-100:]
                continue
            if self._root is None:
                if event.name != root or event.space:
                    fact = f"XML that begins with <{event.name[:40]}>, not with <{root}>"
                    raise DocumentError(fact, place=f"{path}:{event.line}", remedy=remedy)
                self._root = event
            else:
                yield collect(event, events, path), self._comments(above)
            above = []

    def _comments(self, events: Sequence[Event]) -> str:
        """Return the texts of the comments among these events."""
        raw = b"".join(event.raw for event in events if event.kind == "other")
        comments = _COMMENT.findall(raw.decode(self._encoding, "replace"))
        return "\n".join(text for comment in comments if (text := " ".join(comment.split())))[-MAX_NOTE:]

    def _add_string(
        self,
        element: Element,
        items: Sequence[Item],
        key: str,
        note: str = "",
        addition: Addition | None = None,
        *,
        source: Element | None = None,
    ) -> None:
        """Add the segment of an element's content, or of another's, its ``source``, unless it has no text."""
        place = f"{self.path}:{element.start.line}"
        inline = trim(items, place, size=self._size)
        if inline is None:
            return
        self._strings.append(String(element, inline, self._is_cdata(source or element), addition))
        self._add(Segment(len(self.segments), inline.markup, place, key=key, note=note))

    def _is_cdata(self, element: Element) -> bool:
        inside = has_cdata = False
        for event in element.events[element.first + 1 : element.last]:
            if event.kind == "other":
                raw = event.raw.decode(self._encoding, "replace")
                inside = raw.startswith("<![CDATA[") or (inside and not raw.startswith("]]>"))
                has_cdata |= inside
            elif event.kind == "text" and not inside and event.text.strip():
                return False
        return has_cdata

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[bytes]]:
        for number, translation in sorted(translations.items()):
            string = self._strings[number]
            content = self._write(string, translation.target)
            if string.addition:
                offset, before, after = string.addition
                yield Edit(Span(offset, offset), [before, *content, after])
            else:
                yield Edit(string.element.content, content)

    def _write(self, string: String, target: Markup) -> Parts:
        """Return the content of an element: the translation with the source's lead and trail."""
        inline = string.inline
        core = parts(target, inline.tags, self._in_cdata if string.cdata else self._escape)
        return [*(item.span for item in inline.lead), *core, *(item.span for item in inline.trail)]

    def _in_cdata(self, text: str) -> bytes:
        """Return a text as a CDATA section, or escaped where such a section cannot hold it."""
        try:
            if _NOT_RAW.search(text):
                return self._escape(text)
            raw = text.replace("]]>", "]]]]><![CDATA[>")
            return f"<![CDATA[{raw}]]>".encode(self._encoding)
        except UnicodeEncodeError:
            return self._escape(text)
