"""A text file in blocks with equal numbers of lines, each with its offset and checksum."""

import hashlib
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from multihead.errors import UserError
from multihead.run import files
from multihead.system import disk
from multihead.text.lines import is_compressed, lines_of

CHUNK = 1 << 22
"""Bytes read at once while searching for blocks."""


class TextBlocks(BaseModel):
    """The blocks of a text file.

    Attributes:
        bytes: size of the file.
        sha256: digest of the whole file.
        lines: number of its lines.
        block: lines in a block; the last may have fewer.
        starts: offset of each block's first byte.
        sums: CRC-32 of each block's bytes.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    bytes: int
    sha256: str
    lines: int
    block: int
    starts: list[int]
    sums: list[int]

    def __len__(self) -> int:
        return len(self.starts)

    def size(self, number: int) -> int:
        """Return the number of lines in a block."""
        return min(self.block, self.lines - number * self.block)

    def read(self, path: Path, number: int, encoding: str) -> list[str]:
        """Return the lines of a block.

        Raises:
            UserError: the file has changed; a line is not text in this encoding.
        """
        start = self.starts[number]
        end = self.starts[number + 1] if number + 1 < len(self) else self.bytes
        with files.report_disk_errors(path), path.open("rb") as file:
            file.seek(start)
            content = file.read(end - start)
        if zlib.crc32(content) != self.sums[number]:
            remedy = "Restore it, or name another output folder."
            raise UserError("it has changed since the translation began", place=str(path), remedy=remedy)
        return list(lines_of(content, encoding, place=str(path), first=number * self.block + 1))


def find_blocks(path: Path, block: int) -> TextBlocks:
    """Find the blocks of a file in one pass.

    Raises:
        UserError: it cannot be read, or is compressed, so that its blocks cannot be read separately.
    """
    starts, sums, lines, crc = [0], [], 0, 0
    digest = hashlib.sha256()
    with files.report_disk_errors(path):
        size = disk.regular_size(path)
        if is_compressed(path):
            remedy = "Decompress it first, or translate it as a whole, without --part."
            raise UserError("a compressed file has no parts", place=str(path), remedy=remedy)
        for place, chunk in _chunks(path):
            digest.update(chunk)
            ends = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == ord("\n"))
            begun = 0
            for end in ends[block - 1 - lines % block :: block].tolist():
                sums.append(zlib.crc32(chunk[begun : end + 1], crc))
                begun, crc = end + 1, 0
                starts.append(place + begun)
            crc = zlib.crc32(chunk[begun:], crc)
            lines += len(ends)
            last = chunk[-1:]
    if starts[-1] == size:
        starts.pop()  # the last block is full
    else:
        sums.append(crc)
        lines += last != b"\n"
    sha256 = digest.hexdigest()
    return TextBlocks(bytes=size, sha256=sha256, lines=lines, block=block, starts=starts, sums=sums)


def _chunks(path: Path) -> Iterator[tuple[int, bytes]]:
    place = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield place, chunk
            place += len(chunk)


def from_json(saved: Mapping[str, Any], place: Path) -> TextBlocks:
    """Return the blocks from their JSON object. Raises ``UserError`` if it is damaged."""
    try:
        blocks = TextBlocks.model_validate(saved)
    except ValidationError:
        blocks = TextBlocks(bytes=-1, sha256="", lines=0, block=1, starts=[], sums=[])
    rising = [*blocks.starts, blocks.bytes]
    count = -(-blocks.lines // max(1, blocks.block))
    fits = (
        len(blocks.starts) == len(blocks.sums) == count and rising[0] == 0 and rising == sorted(set(rising))
    )
    if blocks.block < 1 or not (fits or (not count and blocks.bytes == 0)):
        remedy = "Copy it again, or name another output folder."
        raise UserError("damaged: not the blocks of a file", place=str(place), remedy=remedy)
    return blocks
