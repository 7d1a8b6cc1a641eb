"""Line output: streamed to standard output, or written to a file that appears when complete."""

import gzip
import lzma
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import zstandard

from multihead.errors import UserError
from multihead.run import files

STANDARD = "-"
Blocks = Iterable[Iterable[str]]
"""Lines without line ends, in blocks; the output is flushed after each block."""
BLOCK = 4096


def write(blocks: Blocks, path: str | None) -> None:
    """Write lines in UTF-8, compressed according to the file extension.

    Args:
        blocks: the lines.
        path: output file; None or "-": standard output.

    Raises:
        UserError: the file cannot be written; an existing file stays unchanged.
    """
    if path is None or path == STANDARD:
        _write(blocks, sys.stdout.buffer)
        return
    place = Path(path)
    if not _replaceable(place):
        with files.report_disk_errors(place), place.open("wb") as file:
            _write(blocks, file)
    else:
        # The target of a link is replaced, not the link.
        target = Path(os.path.realpath(place))

        def write_new(partial: Path) -> None:
            with partial.open("wb") as file, compressing(file, path) as packed:
                _write(blocks, packed)

        files.write(target, write_new)


def write_bytes(pieces: Iterable[bytes], path: str | None) -> None:
    """Write pieces of an output as they are; for the arguments and errors see :func:`write`."""
    write((piece.decode().removesuffix("\n").split("\n") for piece in pieces if piece), path)


def _replaceable(place: Path) -> bool:
    """Return True for a regular or missing file, which can be replaced; False for a device or pipe."""
    links: set[Path] = set()
    while place.is_symlink():
        if place in links:
            raise UserError("circular symbolic links", place=str(place), remedy="Name another file.")
        links.add(place)
        place = place.parent / place.readlink()
        if place.is_relative_to("/proc") or place.is_relative_to("/dev"):
            return False
    return not place.is_relative_to("/dev") and (place.is_file() or not place.exists())


def same_file(one: str, other: str) -> bool:
    """Return True if two paths are the same existing file; never for standard input or output."""
    try:
        return Path(one).samefile(other) and Path(one).is_file()
    except OSError:
        return False


def in_blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Group lines into blocks."""
    rest = iter(lines)
    while block := list(islice(rest, BLOCK)):
        yield block


@contextmanager
def compressing(file: IO[bytes], name: str) -> Iterator[Any]:
    """Yield a compressor for the file extension (.gz, .xz, .zst), or the file itself for any other."""
    kind = Path(name).suffix.lower()
    if kind == ".gz":
        # Without a timestamp the same lines give the same bytes.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            yield packed
    elif kind == ".xz":
        with lzma.open(file, "wb") as packed_xz:
            yield packed_xz
    elif kind == ".zst":
        with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as packed_zst:
            yield packed_zst
    else:
        yield file


def _write(blocks: Blocks, file: IO[bytes]) -> None:
    for lines in blocks:
        file.write("".join(f"{line}\n" for line in lines).encode())
        file.flush()
