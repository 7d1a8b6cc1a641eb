"""Reading of untrusted text files: size-bounded, decoded losslessly, errors with line numbers."""

import codecs
import errno
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from multihead_documents.errors import DocumentError, UndecodableError
from multihead_documents.splice import Span

MAX_BYTES = 64 << 20
"""Size limit of a document, or of an XML part of an archive: 64 MiB."""

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""Byte-order marks. They are kept in the text as U+FEFF."""

_OTHER_KINDS = {
    b"%PDF-": "A PDF has no place for a translation: translate the document that it was made from.",
    b"\xd0\xcf\x11\xe0": (
        "A file of an older Office, or with a password: save it as .docx, .pptx or .xlsx without one."
    ),
    b"{\\rtf": "An RTF file: save it as .docx or .odt.",
    b"PK\x03\x04": "An archive: give an Office document or e-book its own ending; unpack any other.",
    b"\x1f\x8b": "A compressed file: unpack it.",
}
"""Magic numbers of other formats, and the remedy."""


def regular_size(path: Path) -> int:
    """Return the size of a regular file in bytes; an endless device, or a pipe without a writer, is refused.

    Raises:
        OSError: it is missing, a folder or a device.
    """
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return status.st_size


@contextmanager
def document_errors(path: Path) -> Iterator[None]:
    """Raise an ``OSError`` of reading a file as ``DocumentError``."""
    place = str(path)
    try:
        yield
    except FileNotFoundError:
        raise DocumentError("no such file", place=place, remedy="Check the name and the folder.") from None
    except OSError as error:
        fact = f"cannot be read ({error.strerror or error})"
        raise DocumentError(fact, place=place, remedy="Check the file.") from None


def read_bytes(path: Path, largest: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file.

    Raises:
        DocumentError: it is missing, not regular, unreadable, empty or larger than ``largest`` bytes.
    """
    with document_errors(path):
        size = regular_size(path)
        if size > largest:
            fact = f"{size:,} bytes, more than the {largest:,} that are read of a document"
            raise DocumentError(fact, place=str(path), remedy="Split it.")
        with path.open("rb") as file:
            data = file.read(largest + 1)
    if not data:
        raise DocumentError("the file is empty", place=str(path), remedy="Is it the right one, and whole?")
    return data[:largest]


@dataclass(frozen=True)
class Text:
    """A decoded file: path, text and encoding."""

    path: str
    text: str
    encoding: str

    @cached_property
    def _line_starts(self) -> list[int]:
        last = newline(self.text)[-1]
        return [0, *(match.end() for match in re.finditer(last, self.text))]

    def line(self, offset: int) -> int:
        """Return the line number of an offset, from 1."""
        return bisect_right(self._line_starts, offset)

    def place(self, offset: int) -> str:
        """Return ``file:line`` of an offset."""
        return f"{self.path}:{self.line(offset)}"

    def encode_text(self, text: str, errors: str = "strict") -> bytes:
        """Encode a text in the file's encoding.

        Raises:
            DocumentError: a character that the encoding cannot represent.
        """
        try:
            return text.encode(self.encoding, errors)
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            fact = (
                f"{text[error.start]!r} cannot be written in {self.encoding} (line {line} of the translation)"
            )
            remedy = "Convert the document to UTF-8, and its header, before it is translated."
            raise DocumentError(fact, place=self.path, remedy=remedy) from None


def decode(data: bytes, path: Path | str, encoding: str | None = None) -> Text:
    """Decode a file by its byte-order mark or else this encoding, UTF-8 by default.

    Raises:
        DocumentError: invalid bytes, an encoding that does not round-trip, a NUL character.
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
        raise _undecodable(data, error.start, name, place) from None
    except (LookupError, UnicodeError):
        remedy = "Common ones: utf-8, cp949, cp1252, shift_jis, gb18030."
        raise DocumentError(f"unknown text encoding {name!r}", place=place, remedy=remedy) from None
    if not exact:
        remedy = "Convert the file to UTF-8."
        raise DocumentError(f"cannot be written back in {name} byte for byte", place=place, remedy=remedy)
    if (nul := text.find("\0")) >= 0:
        line = text.count("\n", 0, nul) + 1
        remedy = "Remove it; if the file is UTF-16, save it with a byte-order mark or as UTF-8."
        raise DocumentError("a NUL character", place=f"{place}:{line}", remedy=remedy)
    return Text(place, text, name)


def not_text(data: bytes, path: Path | str) -> DocumentError | None:
    """Return the error for a file with the magic number of another format."""
    remedy = next((remedy for magic, remedy in _OTHER_KINDS.items() if data.startswith(magic)), None)
    return DocumentError("a document of another kind", place=str(path), remedy=remedy) if remedy else None


def _undecodable(data: bytes, offset: int, encoding: str, place: str) -> UndecodableError:
    number = data.count(b"\n", 0, offset) + 1
    start = data.rfind(b"\n", 0, offset) + 1
    line = data[start:].partition(b"\n")[0].rstrip(b"\r")
    return UndecodableError(
        encoding, byte=data[offset], place=f"{place}:{number}", line=line, offset=offset - start
    )


def lines_of(text: str, start: int = 0) -> Iterator[Span]:
    """Yield the spans of lines without their ends: LF or CR LF; CR in a text without LF."""
    last = newline(text)[-1]
    while start < len(text):
        end = text.find(last, start)
        end = len(text) if end < 0 else end
        yield Span(start, end - 1 if end > start and text[end - 1] == "\r" else end)
        start = end + 1


def newline(text: str) -> str:
    """Return the line end of a text, by its first lines: CR LF, LF, or CR as on old Macs."""
    if "\r\n" in text[:1000]:
        return "\r\n"
    return "\r" if "\r" in text and "\n" not in text else "\n"
