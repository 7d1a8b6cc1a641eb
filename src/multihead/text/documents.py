"""Running text from files, in blocks that can be tokenised independently."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from multihead.errors import UserError
from multihead.text.lines import read_lines

BLOCK = 1 << 20
"""Approximate size of a block, in characters."""
MAX_BLOCK = 64 * BLOCK
"""Size at which a block ends even if tokenisation may differ, in characters."""

Block = tuple[str, bool]
"""Text, and whether it ends a document."""


def read_blocks(
    paths: Sequence[Path], documents: Literal["file", "line"], encoding: str = "utf-8"
) -> Iterator[Block]:
    """Yield the text of the files in blocks; lines end with LF.

    A block ends before a line feed that is followed by a word. Byte-level pre-tokenisation (Radford et al.
    2019) splits there anyway, so the tokens are those of the whole text. If each line is a document, its line
    feed is dropped and empty lines are skipped.

    Raises:
        UserError: a file is missing, unreadable, damaged or empty.
    """
    for path in paths:
        lines = read_lines(str(path), encoding)
        empty = True
        blocks = _whole(lines) if documents == "file" else ((line, True) for line in lines if line.strip())
        for block in blocks:
            empty = empty and not block[0].strip()
            yield block
        if empty:
            remedy = "Check its name, and that it is complete."
            raise UserError("no text in this file", place=str(path), remedy=remedy)


def _whole(lines: Iterator[str]) -> Iterator[Block]:
    """Yield the text of a file as one document, in blocks."""
    parts: list[str] = []
    size = 0
    for line in lines:
        if size > BLOCK and (line[:1].strip() or size > MAX_BLOCK):
            text = "".join(parts)
            # The last line feed goes with the text after it.
            yield text[:-1], False
            parts, size = ["\n"], 1
        parts.append(f"{line}\n")
        size += len(line) + 1
    yield "".join(parts), True


def split_at(blocks: Iterator[Block], characters: int) -> Iterator[tuple[Block, bool]]:
    """Split the blocks after ``characters``; yield each block and whether it lies after the split."""
    left = characters
    for text, ends in blocks:
        if left >= len(text):
            yield (text, ends), False
        else:
            if left:
                yield (text[:left], False), False
            yield (text[left:], ends), True
        left = max(0, left - len(text))
