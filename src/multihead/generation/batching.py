"""Lines of similar length, searched together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from multihead.batch import Source


@dataclass(frozen=True, slots=True)
class Asked:
    """A line to translate.

    Attributes:
        line: its text.
        source: its pieces, without the end symbol.
        prefix: the pieces that the output has to begin with.
        number: its place among the lines.
    """

    line: str
    source: Sequence[int]
    prefix: Sequence[int]
    number: int


def by_length(lines: Iterable[Asked], budget: int) -> list[list[Asked]]:
    """Cut lines into batches, longest sources first, so that memory is short at the start or never.

    Each batch fills at most ``budget`` source places, end symbols and padding included; a line that is
    longer is a batch of its own.
    """
    batches: list[list[Asked]] = []
    for one in sorted(lines, key=lambda line: -len(line.source)):
        width = len(batches[-1][0].source) + 1 if batches else 0
        if batches and (len(batches[-1]) + 1) * width <= budget:
            batches[-1].append(one)
        else:
            batches.append([one])
    return batches


def to_source(lines: Sequence[Asked], *, pad_id: int, eos_id: int) -> Source:
    """The sources as tensors, each with the end symbol after it."""
    lengths_B = np.array([len(one.source) + 1 for one in lines])
    ids_BS = np.full((len(lines), int(lengths_B.max())), pad_id)
    for row, one in zip(ids_BS, lines, strict=True):
        row[: len(one.source)] = one.source
        row[len(one.source)] = eos_id
    return Source(torch.from_numpy(ids_BS), torch.from_numpy(lengths_B))
