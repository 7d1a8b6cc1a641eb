"""XML parser events with source offsets and bytes, so that untranslated content is copied verbatim.

Expat reports the byte offset of every event; tree parsers lose attribute quotes, CDATA sections and character
references. Only the five predefined entities are expanded.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple
from xml.parsers import expat

from multihead_documents.errors import DocumentError
from multihead_documents.splice import Span

MAX_MARKUP_BYTES = 8 << 20
"""Size limit of a tag or comment: 8 MiB."""

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 excludes, also as references."""

_CHUNK = 1 << 16
_NONE: dict[str, str] = {}
"""Shared empty attributes."""
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}


class Event(NamedTuple):
    """A start tag, end tag, text, or other markup (comment, declaration)."""

    kind: Literal["start", "end", "text", "other"]
    name: str
    """Local name of the element."""
    space: str
    """Namespace of the element, "" if none."""
    attributes: dict[str, str]
    """By local name: ``xml:lang`` is ``lang``."""
    text: str
    span: Span
    raw: bytes
    line: int

    @property
    def empty(self) -> bool:
        """True for the start of an empty-element tag, ``<x/>``."""
        return self.kind == "start" and self.raw.rstrip(b"\0")[:-1].rstrip(b"\0").endswith(b"/")


def xml_events(chunks: Iterable[bytes], path: str) -> Iterator[Event]:
    """Yield the events of an XML file. Their ``raw`` bytes concatenate to the file.

    Args:
        chunks: the bytes of the file.
        path: its name, for errors.

    Raises:
        DocumentError: malformed XML, a declared or unknown entity, an unsupported encoding.
    """
    reader = _Reader(path)
    for chunk in chunks:
        for start in range(0, len(chunk), _CHUNK):
            yield from reader.feed(chunk[start : start + _CHUNK])
    yield from reader.feed(b"")


class _Reader:
    """Feeds expat; an event is complete when the next one starts."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.begun: list[
            tuple[Literal["start", "end", "text", "other"], str, dict[str, str], str, int, int]
        ] = []
        self.buffer = b""
        self.first = 0
        """File offset of the buffer."""
        parser = expat.ParserCreate(namespace_separator="}")
        parser.specified_attributes = (
            True  # a declared default of a megabyte could be repeated a million times
        )
        parser.buffer_text = False
        parser.StartElementHandler = lambda name, attributes: self._begin("start", name, attributes)
        parser.EndElementHandler = lambda name: self._begin("end", name)
        parser.CharacterDataHandler = lambda text: self._begin("text", text=text)
        parser.DefaultHandlerExpand = lambda text: self._begin("other")
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._unknown_entity
        self.parser = parser

    def _begin(
        self,
        kind: Literal["start", "end", "text", "other"],
        name: str = "",
        attributes: dict[str, str] | None = None,
        text: str = "",
    ) -> None:
        place = self.parser.CurrentByteIndex, self.parser.CurrentLineNumber
        self.begun.append((kind, name, attributes or _NONE, text, *place))

    def _entity(self, name: str, *declared: object) -> None:
        remedy = (
            "Write out what it stands for, and remove the declaration: entities of a file are never expanded."
        )
        raise DocumentError(f"declares an entity ({name[:40]})", place=self._place(), remedy=remedy)

    def _unknown_entity(self, name: str, parameter: bool) -> None:
        if not parameter:
            remedy = "Write the character itself, or its number such as &#160;."
            raise DocumentError(f"an unknown entity &{name[:40]};", place=self._place(), remedy=remedy)

    def _place(self) -> str:
        return f"{self.path}:{self.parser.CurrentLineNumber}"

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Parse a chunk (empty: end of file) and yield complete events."""
        self.buffer += chunk
        try:
            self.parser.Parse(chunk, not chunk)
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise self._malformed_error(error) from None
        last = None if chunk else self.first + len(self.buffer)
        for number, (kind, name, attributes, text, start, line) in enumerate(self.begun):
            end = self.begun[number + 1][4] if number + 1 < len(self.begun) else last
            if end is None:
                break
            raw = self.buffer[start - self.first : end - self.first]
            space, _, local = name.rpartition("}")
            short = (
                {key.rpartition("}")[2]: value for key, value in attributes.items()} if attributes else _NONE
            )
            yield Event(kind, local, space, short, text, Span(start, end), raw, line)
        pending = self.begun[-1:] if chunk else []
        start = pending[0][4] if pending else self.first
        self.buffer, self.first, self.begun = self.buffer[start - self.first :], start, pending
        if len(self.buffer) > MAX_MARKUP_BYTES:
            fact = f"more than {MAX_MARKUP_BYTES >> 20} MiB without a text or tag"
            raise DocumentError(fact, place=self._place(), remedy="Is this a document?")

    def _malformed_error(self, error: Exception) -> DocumentError:
        if not isinstance(error, expat.ExpatError):
            return DocumentError(
                f"an encoding that is not read ({error})", place=self.path, remedy="Convert it to UTF-8."
            )
        offset = self.parser.ErrorByteIndex - self.first
        place = f"{self.path}:{error.lineno}"
        data = self.buffer
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN] and 0 <= offset < len(data):
            try:
                data[offset : offset + 4].decode()
            except UnicodeDecodeError as fault:
                if fault.start == 0 and not fault.reason.startswith("unexpected end"):
                    before = data.rfind(b"\n", 0, offset)
                    remedy = "Convert the file to UTF-8, or declare its encoding in the first line."
                    column = offset - before if before >= 0 else error.offset + 1
                    return DocumentError(
                        f"not UTF-8 (byte 0x{data[offset]:02X} at column {column})",
                        place=place,
                        remedy=remedy,
                    )
        reason = expat.errors.messages[error.code]
        fact = f"not well-formed XML ({reason}, column {error.offset + 1})"
        return DocumentError(fact, place=place, remedy="Mend it, or have the program that wrote it do so.")


def xml_encoding(data: bytes) -> str:
    """Return the encoding by byte-order mark or XML declaration, UTF-8 by default."""
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return name
    for start, name in ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be")):  # without a mark
        if data.startswith(start):
            return name
    match = re.match(rb"""(?:\xef\xbb\xbf)?<\?xml\s[^>]*?encoding\s*=\s*["']([\w.-]+)""", data[:1000])
    return match[1].decode() if match else "utf-8"


def escape(text: str, spell: Callable[[str], str] = lambda letter: "\ufffd") -> str:
    """Escape a text for XML; ``spell`` replaces excluded characters, by default with U+FFFD."""
    text = re.sub("[&<>\r]", lambda found: _ESCAPES[found[0]], text)
    return FORBIDDEN.sub(lambda found: spell(found[0]), text)
