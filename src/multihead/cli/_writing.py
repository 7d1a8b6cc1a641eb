"""Lines written: at once to standard output, or to a file that appears when it is complete."""

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
"""Lines without their ends, in blocks; what has been written of one is soon seen by who reads it."""
BLOCK = 4096


def write(blocks: Blocks, path: str | None) -> None:
    """Write lines as UTF-8 to a file, None or "-": to standard output; compressed as the name says.

    Raises:
        UserError: the file cannot be written. What was there before is untouched.
    """
    if path is None or path == STANDARD:
        _write(blocks, sys.stdout.buffer)
        return
    place = Path(path)
    if not _replaceable(place):
        with files.disk_errors_told(place), place.open("wb") as file:
            _write(blocks, file)
    else:
        # Behind a link, what it leads to is replaced, not the link.
        goal = Path(os.path.realpath(place))

        def write_new(partial: Path) -> None:
            with partial.open("wb") as file, compressing(file, path) as packed:
                _write(blocks, packed)

        files.write(goal, write_new)


def _replaceable(place: Path) -> bool:
    """Whether another file can take its place, or it is not there yet: no device, no pipe, nothing open."""
    links: set[Path] = set()
    while place.is_symlink():
        if place in links:
            raise UserError("a circle of links", place=str(place))
        links.add(place)
        place = place.parent / place.readlink()
        if place.is_relative_to("/proc") or place.is_relative_to("/dev"):
            return False
    return not place.is_relative_to("/dev") and (place.is_file() or not place.exists())


def same_file(one: str, other: str) -> bool:
    """Whether two names are of one file that is there; standard input and output are none."""
    try:
        return Path(one).samefile(other) and Path(one).is_file()
    except OSError:
        return False


def in_blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Return many lines in blocks."""
    rest = iter(lines)
    while block := list(islice(rest, BLOCK)):
        yield block


@contextmanager
def compressing(file: IO[bytes], name: str) -> Iterator[Any]:
    """Yield what compresses into an open file as its name says (.gz, .xz, .zst), or the file itself."""
    kind = Path(name).suffix.lower()
    if kind == ".gz":
        # Without the time: the same lines are the same bytes.
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
