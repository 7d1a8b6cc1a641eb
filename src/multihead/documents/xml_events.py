"""XML parsed into events with the bytes of each: what is not translated is copied, never spelled anew.

Expat parses, because it says where in the file every event begins; trees of other libraries lose attribute
quotes, CDATA sections and character references. No entity is ever expanded but XML's own five.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple
from xml.parsers import expat

from multihead.documents.splice import Span
from multihead.errors import UserError

LONGEST_MARKUP = 8 << 20
"""Bytes of one tag, comment or the like: 8 MiB."""

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even as a reference."""

_CHUNK = 1 << 16
_NONE: dict[str, str] = {}
"""The attributes of events without; never changed."""
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}


class Event(NamedTuple):
    """A tag, a text or something else (comment, declaration) between them."""

    kind: Literal["start", "end", "text", "other"]
    name: str
    """The element's name without its prefix."""
    space: str
    """The element's namespace, "" if none."""
    attributes: dict[str, str]
    """By their names without prefix: ``xml:lang`` is ``lang``."""
    text: str
    span: Span
    raw: bytes
    line: int

    @property
    def empty(self) -> bool:
        """True for the start of an element without content that is spelled as one tag, ``<x/>``."""
        return self.kind == "start" and self.raw.rstrip(b"\0")[:-1].rstrip(b"\0").endswith(b"/")


def xml_events(chunks: Iterable[bytes], path: str) -> Iterator[Event]:
    """Yield the events of an XML file. Together their bytes are the file's.

    Args:
        chunks: the file, in parts of any size.
        path: its name, for errors.

    Raises:
        UserError: malformed XML, an entity that is declared or unknown, an encoding that cannot be read.
    """
    reader = _Reader(path)
    for chunk in chunks:
        for start in range(0, len(chunk), _CHUNK):
            yield from reader.fed(chunk[start : start + _CHUNK])
    yield from reader.fed(b"")


class _Reader:
    """Feeds expat, and gives an event once the next one has shown where it ends."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.begun: list[
            tuple[Literal["start", "end", "text", "other"], str, dict[str, str], str, int, int]
        ] = []
        self.buffer = b""
        self.first = 0
        """The place of the buffer's first byte in the file."""
        parser = expat.ParserCreate(namespace_separator="}")
        parser.specified_attributes = True  # a declared default could be a megabyte, a million times
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
        raise UserError(f"declares an entity ({name[:40]})", place=self._place(), remedy=remedy)

    def _unknown_entity(self, name: str, parameter: bool) -> None:
        if not parameter:
            remedy = "Write the character itself, or its number such as &#160;."
            raise UserError(f"an unknown entity &{name[:40]};", place=self._place(), remedy=remedy)

    def _place(self) -> str:
        return f"{self.path}:{self.parser.CurrentLineNumber}"

    def fed(self, chunk: bytes) -> Iterator[Event]:
        """Parse the next bytes, or the end of the file if none, and yield the events that are complete."""
        self.buffer += chunk
        try:
            self.parser.Parse(chunk, not chunk)
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise self._malformed(error) from None
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
        kept = self.begun[-1:] if chunk else []
        start = kept[0][4] if kept else self.first
        self.buffer, self.first, self.begun = self.buffer[start - self.first :], start, kept
        if len(self.buffer) > LONGEST_MARKUP:
            fact = f"more than {LONGEST_MARKUP >> 20} MiB without a text or tag"
            raise UserError(fact, place=self._place(), remedy="Is this a document?")

    def _malformed(self, error: Exception) -> UserError:
        if not isinstance(error, expat.ExpatError):
            return UserError(
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
                    return UserError(
                        f"not UTF-8 (byte 0x{data[offset]:02X} at column {column})",
                        place=place,
                        remedy=remedy,
                    )
        reason = expat.errors.messages[error.code]
        fact = f"not well-formed XML ({reason}, column {error.offset + 1})"
        return UserError(fact, place=place, remedy="Mend it, or have the program that wrote it do so.")


def xml_encoding(data: bytes) -> str:
    """Return the encoding that a byte-order mark or the XML declaration names, UTF-8 without."""
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return name
    found = re.match(rb"""(?:\xef\xbb\xbf)?<\?xml\s[^>]*?encoding\s*=\s*["']([\w.-]+)""", data[:1000])
    return found[1].decode() if found else "utf-8"


def escaped(text: str) -> str:
    """Return a text as XML spells it; what XML cannot hold at all becomes U+FFFD."""
    return re.sub("[&<>\r]", lambda found: _ESCAPES[found[0]], FORBIDDEN.sub("\ufffd", text))
