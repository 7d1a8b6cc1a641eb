"""Running text from files, in blocks that a tokenizer cuts as it would cut the whole."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from multihead.errors import UserError
from multihead.text.lines import read_lines

BLOCK = 1 << 20
"""Characters a block, about."""
LARGEST = 64 * BLOCK
"""A block that finds no good place to end is ended here."""

Block = tuple[str, bool]
"""Text, and whether a document ends with it."""


def read_blocks(
    paths: Sequence[Path], documents: Literal["file", "line"], encoding: str = "utf-8"
) -> Iterator[Block]:
    """Yield the text of files in blocks, one file after the other; lines end with LF.

    A block ends before a line feed that words follow: there byte-level cutting (Radford et al. 2019) begins
    anew anyway, so that blocks are cut as the whole text would be. Where a line is a document, its line feed
    is left out, and empty lines are passed over.

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
            raise UserError("no text in this file", place=str(path), remedy="Is it the right one, and whole?")


def _whole(lines: Iterator[str]) -> Iterator[Block]:
    """Yield a file's text, the last block being its end."""
    parts: list[str] = []
    size = 0
    for line in lines:
        if size > BLOCK and (line[:1].strip() or size > LARGEST):
            text = "".join(parts)
            # The last line feed belongs to what comes after it.
            yield text[:-1], False
            parts, size = ["\n"], 1
        parts.append(f"{line}\n")
        size += len(line) + 1
    yield "".join(parts), True


def split_at(blocks: Iterator[Block], characters: int) -> Iterator[tuple[Block, bool]]:
    """Yield the blocks with whether they lie behind the first so many characters; one is cut in two there."""
    left = characters
    for text, ends in blocks:
        if left >= len(text):
            yield (text, ends), False
        else:
            if left:
                yield (text[:left], False), False
            yield (text[left:], ends), True
        left = max(0, left - len(text))
