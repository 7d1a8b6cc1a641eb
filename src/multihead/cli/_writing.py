"""Lines written: at once to standard output, or to a file that appears when it is complete."""

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO

from multihead.run import files

STANDARD = "-"
Blocks = Iterable[Iterable[str]]
"""Lines without their ends, in blocks; what has been written of one is soon seen by who reads it."""
BLOCK = 4096


def write(blocks: Blocks, path: str | None) -> None:
    """Write lines as UTF-8 to a file; None or "-": to standard output.

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
        files.write(Path(os.path.realpath(place)), lambda partial: _write_new(blocks, partial))


def _replaceable(place: Path) -> bool:
    """Whether another file can take its place, or it is not there yet: no device, no pipe, nothing open."""
    while place.is_symlink():
        place = place.parent / place.readlink()
        if place.is_relative_to("/proc") or place.is_relative_to("/dev"):
            return False
    return not place.is_relative_to("/dev") and (place.is_file() or not place.exists())


def in_blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Return many lines in blocks."""
    rest = iter(lines)
    while block := list(islice(rest, BLOCK)):
        yield block


def _write_new(blocks: Blocks, path: Path) -> None:
    with path.open("wb") as file:
        _write(blocks, file)


def _write(blocks: Blocks, file: IO[bytes]) -> None:
    for lines in blocks:
        file.write("".join(f"{line}\n" for line in lines).encode())
        file.flush()
