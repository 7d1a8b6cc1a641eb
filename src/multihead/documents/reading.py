"""Text of an untrusted file: bounded, decoded without loss, every fault named with its line."""

import codecs
import os
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from multihead import disk
from multihead.documents.splice import Span
from multihead.errors import UserError

MOST_BYTES = 64 << 20
"""Bytes of a document that is read whole, or of a part of an archive: 64 MiB."""

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""Byte-order marks; each stays in the text as U+FEFF, so that it is written back."""

_OTHER_KINDS = {
    b"%PDF-": "A PDF has no place for a translation: translate the document that it was made from.",
    b"\xd0\xcf\x11\xe0": "A file of an older Office, or with a password: save it as .docx without one.",
    b"{\\rtf": "An RTF file: save it as .docx or .odt.",
    b"PK\x03\x04": "An archive: if it is a .docx or .odt, give it that name; else unpack it.",
    b"\x1f\x8b": "A compressed file: unpack it.",
}
"""First bytes of files that are often given for a text, and what to do with them."""


def read_bytes(path: Path, largest: int = MOST_BYTES) -> bytes:
    """Return what a file holds.

    Raises:
        UserError: it is missing, no ordinary file, unreadable, empty or larger than ``largest`` bytes.
    """
    try:
        size = disk.ordinary_size(path)
        if size > largest:
            fact = f"{size:,} bytes, more than the {largest:,} that are read of a document"
            raise UserError(fact, place=str(path), remedy="Split it.")
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except FileNotFoundError:
        raise UserError("no such file", place=str(path), remedy="Check the name and the folder.") from None
    except OSError as error:
        fact = f"cannot be read ({error.strerror or error})"
        raise UserError(fact, place=str(path), remedy="Check the file.") from None
    if not data:
        raise UserError("the file is empty", place=str(path), remedy="Is it the right one, and whole?")
    return data[:largest]


@dataclass(frozen=True)
class Text:
    """A decoded file, with what is needed to encode it again and to name the place of a fault."""

    path: str
    text: str
    encoding: str

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        place = self.text.find("\n")
        while place >= 0:
            starts.append(place + 1)
            place = self.text.find("\n", place + 1)
        return starts

    def line(self, offset: int) -> int:
        """Return the number, from 1, of the line with this character."""
        return bisect_right(self._line_starts, offset)

    def place(self, offset: int) -> str:
        """Return ``file:line`` of a character."""
        return f"{self.path}:{self.line(offset)}"

    def encoded(self, text: str, errors: str = "strict") -> bytes:
        """Return the bytes of a text in the file's encoding.

        Raises:
            UserError: it has a character that the encoding has not.
        """
        try:
            return text.encode(self.encoding, errors)
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            fact = (
                f"{text[error.start]!r} cannot be written in {self.encoding} (line {line} of the translation)"
            )
            remedy = "Convert the document to UTF-8, and its header, before it is translated."
            raise UserError(fact, place=self.path, remedy=remedy) from None


def decoded(data: bytes, path: Path | str, encoding: str | None = None) -> Text:
    """Decode a file by its byte-order mark, or else by this encoding (UTF-8 by default).

    Raises:
        UserError: bytes that are invalid in it or would not be written back the same; a NUL character.
    """
    marked = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)
    name = marked or encoding or "utf-8"
    place = os.fspath(path)
    if other := not_text(data, path):
        raise other
    try:
        text = data.decode(name)
        exact = text.encode(name) == data
    except UnicodeDecodeError as error:
        raise undecodable(data, error.start, name, place) from None
    except (LookupError, UnicodeError):
        remedy = "Usual ones: utf-8, latin-1, cp1252, euc-kr."
        raise UserError(f"unknown text encoding {name!r}", place=place, remedy=remedy) from None
    if not exact:
        remedy = "Convert the file to UTF-8."
        raise UserError(f"cannot be written back in {name} byte for byte", place=place, remedy=remedy)
    if (nul := text.find("\0")) >= 0:
        line = text.count("\n", 0, nul) + 1
        remedy = "Remove it; if the file is UTF-16, save it with a byte-order mark or as UTF-8."
        raise UserError("a NUL character", place=f"{place}:{line}", remedy=remedy)
    return Text(place, text, name)


def not_text(data: bytes, path: Path | str) -> UserError | None:
    """Return the error for a file of another kind, by its first bytes; None if they say nothing."""
    remedy = next((remedy for magic, remedy in _OTHER_KINDS.items() if data.startswith(magic)), None)
    return UserError("a document of another kind", place=str(path), remedy=remedy) if remedy else None


def undecodable(data: bytes, offset: int, encoding: str, place: str) -> UserError:
    """Return the error for a byte that is invalid in an encoding."""
    line = data.count(b"\n", 0, offset) + 1
    column = offset - data.rfind(b"\n", 0, offset)
    fact = f"not {encoding.upper()} (byte 0x{data[offset]:02X} at column {column})"
    return UserError(fact, place=f"{place}:{line}", remedy="Convert the file to UTF-8, or name its encoding.")


def lines_of(text: str, start: int = 0) -> Iterator[Span]:
    """Yield the spans of a text's lines, their ends (LF, or CR LF) left out."""
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield Span(start, end - 1 if end > start and text[end - 1] == "\r" else end)
        start = end + 1
