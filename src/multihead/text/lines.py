"""Reader for the lines of a text file, plain or compressed, or of standard input."""

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import zstandard

from multihead.errors import UserError
from multihead.system.addresses import locate_file
from multihead.text.encodings import likely

STDIN = "-"
MAX_LINE_BYTES = 1 << 26
"""Lines of more than 64 MiB are refused, so that a file that is not text cannot exhaust memory."""

_MAGIC: dict[str, tuple[bytes, ...]] = {
    ".gz": (b"\x1f\x8b",),
    ".xz": (b"\xfd7zXZ\x00",),
    ".zst": (b"\x28\xb5\x2f\xfd",),
    ".bz2": tuple(b"BZh%d1AY&" % level for level in range(1, 10)),
}
"""First bytes of a file, by the extension of its compression."""
_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError)


class _Lines(Protocol):
    """An open file, decompressed."""

    def readline(self, size: int, /) -> bytes: ...


def read_lines(path: str, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the lines of a file without their line ends.

    Only LF ends a line; a CR before it and a byte-order mark at the start of the file are stripped. U+2028,
    U+0085 and the like stay in the line, so that parallel files stay aligned.

    Args:
        path: a file, plain or compressed with gzip, bzip2, xz or zstandard (detected by content); "-" is
            standard input.
        encoding: text encoding.

    Raises:
        UserError: the file is missing, unreadable or damaged, the encoding is unknown, or the text has
            invalid bytes or a NUL byte.
    """
    _check_encoding(encoding)
    place = "standard input" if path == STDIN else path
    with _open(path) as binary:
        yield from _decode(binary, place, encoding, 1)


def lines_of(content: bytes, encoding: str, *, place: str, first: int) -> Iterator[str]:
    """Yield the lines of a part of a plain file; raises as :func:`read_lines` does.

    Args:
        content: the bytes of whole lines.
        encoding: text encoding.
        place: name of the file, for errors.
        first: number of the first line in the file, from 1.
    """
    yield from _decode(io.BytesIO(content), place, encoding, first)


def is_compressed(path: Path) -> bool:
    """Return True if a file is compressed, by its content. Raises ``OSError`` if it cannot be read."""
    with path.open("rb") as file:
        head = file.read(8)
    return any(head.startswith(magic) for magic in _MAGIC.values())


def _decode(binary: _Lines, place: str, encoding: str, first: int) -> Iterator[str]:
    for number, raw in enumerate(_raw_lines(binary, place), start=first):
        if b"\0" in raw:
            remedy = "Remove it, or convert the file to UTF-8 if it is UTF-16."
            if number == 1 and raw.startswith(b"PK\x03\x04"):
                remedy = "This is a .zip archive: unpack it, and name its files."
            raise UserError("a NUL byte", place=f"{place}:{number}", remedy=remedy)
        try:
            line = raw.removesuffix(b"\n").removesuffix(b"\r").decode(encoding)
        except UnicodeDecodeError as error:
            raise _undecodable(error, encoding, f"{place}:{number}") from None
        yield line.removeprefix("\ufeff") if number == 1 else line


def empty(place: str) -> UserError:
    """Return the error for a file without lines."""
    return UserError("the file is empty", place=place, remedy="Check its name, and that it is complete.")


def file_kind(path: str) -> str:
    """Return the extension of a file in lower case, without that of its compression.

    >>> file_kind("corpus/train.TSV.gz")
    '.tsv'
    """
    return Path(without_compression(path)).suffix.lower()


def without_compression(name: str) -> str:
    """Return a file's name without the extension of its compression."""
    suffix = Path(name).suffix
    return name.removesuffix(suffix) if suffix.lower() in _MAGIC else name


@contextmanager
def _open(path: str) -> Iterator[_Lines]:
    """Open a file for reading, decompressed; an operating system error becomes a ``UserError``."""
    if path == STDIN:
        yield _decompress(sys.stdin.buffer, path)
        return
    here = locate_file("", path)
    try:
        with here.open("rb") as binary:
            yield _decompress(binary, path)
    except FileNotFoundError:
        raise UserError("no such file", place=path, remedy=_nearby(path)) from None
    except IsADirectoryError:
        raise UserError("is a directory", place=path, remedy="Name a file in it.") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot be read ({reason})", place=path, remedy="Check the file.") from error


def _nearby(path: str) -> str:
    """Return a remedy for a missing file: the same file with another compression, if there is one."""
    here = Path(path)
    stem = here.with_suffix("") if here.suffix in _MAGIC else here
    for suffix in ("", *_MAGIC):
        other = stem.with_name(stem.name + suffix)
        if other.is_file():
            return f"There is {other}."
    return "Check its name and folder."


def _decompress(binary: IO[bytes], path: str) -> _Lines:
    """Wrap a stream in the decompressor that its first bytes call for."""
    buffered = binary if isinstance(binary, io.BufferedReader) else io.BufferedReader(binary)  # type: ignore[type-var]
    head = buffered.peek(8)[:8]
    kind = next((suffix for suffix, magic in _MAGIC.items() if head.startswith(magic)), "")
    named = Path(path).suffix.lower()
    if head and named in _MAGIC and kind != named:
        raise UserError(
            f"not a {named} file, despite its name", place=path, remedy="Rename or recompress it."
        )
    if kind == ".gz":
        return gzip.open(buffered)
    if kind == ".xz":
        return lzma.open(buffered)
    if kind == ".bz2":
        return bz2.open(buffered)
    if kind == ".zst":
        return io.BufferedReader(_Zstandard(buffered), 1 << 20)
    return buffered


class _Zstandard(io.RawIOBase):
    """Reader for the frames of a .zst file. Unlike the library's own, it detects a truncated file."""

    def __init__(self, binary: IO[bytes]) -> None:
        super().__init__()
        self._binary = binary
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._inside = False
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer)
        while not self._ready:
            raw = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
                self._inside = False
            # Small reads, because the data may expand 32,000-fold.
            raw = raw or self._binary.read(512)
            if not raw:
                if self._inside:
                    raise EOFError("the last frame has no end")
                return 0
            self._inside = True
            self._ready = self._frame.decompress(raw)
        count = min(len(view), len(self._ready))
        view[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


def _raw_lines(binary: _Lines, place: str) -> Iterator[bytes]:
    number = 0
    try:
        while raw := binary.readline(MAX_LINE_BYTES):
            number += 1
            if len(raw) == MAX_LINE_BYTES:
                fact = f"a line of more than {MAX_LINE_BYTES >> 20} MiB"
                raise UserError(fact, place=f"{place}:{number}", remedy="Is this a text file?")
            yield raw
    except _DAMAGE as error:
        fact = f"the compressed file is damaged or truncated ({error})"
        raise UserError(
            fact, place=f"{place}:{number + 1}", remedy="Download or compress it again."
        ) from error


def _undecodable(error: UnicodeDecodeError, encoding: str, place: str) -> UserError:
    byte, column = error.object[error.start], error.start + 1
    fact = f"not {encoding.upper()} (byte 0x{byte:02X} at column {column})"
    guess = likely(error.object, error.start)
    remedy = f"Convert the file to UTF-8, or give its encoding with --data.encoding or --encoding{guess}."
    return UserError(fact, place=place, remedy=remedy)


def _check_encoding(encoding: str) -> None:
    """Refuse unknown encodings, and those in which a line feed is not the single byte 0x0A."""
    try:
        plain = "\n".encode(encoding) == b"\n"
    except (LookupError, ValueError):
        fact = f"unknown text encoding {encoding!r}"
        remedy = "Common ones: utf-8, cp949, cp1252, shift_jis, gb18030."
        raise UserError(fact, place="data.encoding", remedy=remedy) from None
    if not plain:
        remedy = "Convert the files to UTF-8 first, e.g. with iconv."
        raise UserError(f"{encoding} cannot be read line by line", place="data.encoding", remedy=remedy)
