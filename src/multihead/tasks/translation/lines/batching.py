"""Batches of source lines of similar length."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from multihead.search.phrase import Phrase
from multihead.system.native_library import Array


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line to translate.

    Attributes:
        text: the original line.
        tokens: its token ids, without the end symbol.
        prefix: token ids that the output must begin with.
        index: its position among the given lines.
        phrases: phrases that the output must contain.
    """

    text: str
    tokens: Sequence[int]
    prefix: Sequence[int]
    index: int
    phrases: Sequence[Phrase] = ()


def batch_by_length(lines: Iterable[SourceLine], max_tokens: int) -> list[list[SourceLine]]:
    """Split lines into batches of similar length, longest first: memory runs out in the first batch or never.

    A batch holds at most ``max_tokens`` source tokens, end symbols and padding included. A longer line
    becomes a batch of its own. Lines with phrases are searched in another way: they share no batch with
    others.
    """
    batches: list[list[SourceLine]] = []
    for line in sorted(lines, key=lambda line: (not line.phrases, -len(line.tokens))):
        width = len(batches[-1][0].tokens) + 1 if batches else 0
        is_alike = bool(batches) and bool(batches[-1][0].phrases) == bool(line.phrases)
        if is_alike and (len(batches[-1]) + 1) * width <= max_tokens:
            batches[-1].append(line)
        else:
            batches.append([line])
    return batches


def pad_lines(lines: Sequence[SourceLine], *, pad_id: int, eos_id: int) -> tuple[Array, Array]:
    """Return the lines' ids, each followed by the end symbol and padded, (B, S), and their lengths, (B,)."""
    lengths_B = np.array([len(line.tokens) + 1 for line in lines])
    ids_BS = np.full((len(lines), int(lengths_B.max())), pad_id)
    for row, line in zip(ids_BS, lines, strict=True):
        row[: len(line.tokens)] = line.tokens
        row[len(line.tokens)] = eos_id
    return ids_BS, lengths_B
