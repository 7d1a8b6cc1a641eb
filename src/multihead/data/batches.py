"""From stored pairs to the tensors of a batch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multihead.batch import PairBatch, Source
from multihead.data.plan import Indices, Lengths, cut, epoch_plan
from multihead.data.stream import START, Position, Stream

__all__ = [
    "BatchStream",
    "PairList",
    "Pairs",
    "Position",
    "Reencode",
    "Shapes",
    "collate",
    "epoch_plan",
    "sequential_batches",
]

Ids = Sequence[int] | NDArray[np.integer]
Reencode = Callable[[Sequence[Ids], Sequence[tuple[int, int]]], Sequence[Ids]]
"""(sentences, their (epoch, pair index)) -> other ids of the same texts, the same for the same keys."""


class Pairs(Protocol):
    """Encoded sentence pairs, without special symbols; a ``TokenStore`` is one."""

    def __len__(self) -> int: ...
    def source(self, index: int) -> Ids:
        """Return the ids of one source sentence."""

    def target(self, index: int) -> Ids:
        """Return the ids of one target sentence."""

    @property
    def source_lengths(self) -> Lengths:
        """Pieces of each source, (N,)."""

    @property
    def target_lengths(self) -> Lengths:
        """Pieces of each target, (N,)."""


class PairList:
    """Pairs held in memory."""

    def __init__(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> None:
        assert len(sources) == len(targets)
        self.source = sources.__getitem__
        self.target = targets.__getitem__
        self.source_lengths = np.array([len(ids) for ids in sources], dtype=np.int32)
        self.target_lengths = np.array([len(ids) for ids in targets], dtype=np.int32)

    def __len__(self) -> int:
        return len(self.source_lengths)


@dataclass(frozen=True, slots=True)
class Shapes:
    """Which shapes batches may have: what is made for a shape, code or a graph of kernels, is made once.

    Attributes:
        multiple: widths are multiples of this.
        few_rows: the number of rows keeps to eight values from one power of two to the next.
    """

    multiple: int = 1
    few_rows: bool = False

    def rows(self, rows: int) -> int:
        """Return how many rows a batch of so many pairs gets: at most an eighth more."""
        step = 1 << max(0, rows.bit_length() - 4) if self.few_rows else 1
        return -(-rows // step) * step


FREE = Shapes()


def collate(
    sources: Sequence[Ids],
    targets: Sequence[Ids],
    *,
    pad_id: int,
    bos_id: int,
    eos_id: int,
    shapes: Shapes = FREE,
) -> PairBatch:
    """Return B pairs as tensors: source EOS, BOS target EOS, padded on the right.

    The widths that the model computes with, S and T - 1, and B are rounded up as ``shapes`` says. Rows that
    are added hold the end symbol alone, of which nothing is to be predicted.
    """
    blank: list[Ids] = [[]] * (shapes.rows(len(sources)) - len(sources))
    ids_BS, lengths_B = _padded([*sources, *blank], pad_id, eos_id, shapes.multiple)
    out_BT, target_lengths_B = _padded([*targets, *blank], pad_id, eos_id, shapes.multiple)
    target_lengths_B[len(targets) :] = 0
    begin_B1 = torch.full((len(out_BT), 1), bos_id)
    return PairBatch(
        source=Source(ids_BS, lengths_B),
        target_BT=torch.cat([begin_B1, out_BT], dim=1),
        target_lengths_B=target_lengths_B,
        tokens=int(target_lengths_B.sum()),
    )


def _padded(sequences: Sequence[Ids], pad_id: int, eos_id: int, multiple: int) -> tuple[Tensor, Tensor]:
    """Return ids with the end symbol (B, N), and lengths that count it (B,)."""
    lengths_B = np.array([len(ids) + 1 for ids in sequences], dtype=np.int64)
    width = -(-int(lengths_B.max()) // multiple) * multiple
    ids_BN = np.full((len(sequences), width), pad_id, dtype=np.int64)
    for row, ids in zip(ids_BN, sequences, strict=True):
        row[: len(ids)] = ids
        row[len(ids)] = eos_id
    return torch.from_numpy(ids_BN), torch.from_numpy(lengths_B)


class BatchStream(Stream[PairBatch]):
    """The endless stream of training batches, each with the position after it."""

    def __init__(
        self,
        store: Pairs,
        *,
        batch_tokens: int,
        seed: int,
        pad_id: int,
        bos_id: int,
        eos_id: int,
        position: Position = START,
        source_encode: Reencode | None = None,
        target_encode: Reencode | None = None,
        shapes: Shapes = FREE,
    ) -> None:
        assert len(store) > 0, "no pairs to train on"
        super().__init__(position)
        self.store = store
        self._batch_tokens, self._seed = batch_tokens, seed
        self._source_encode, self._target_encode = source_encode, target_encode
        self._collate = partial(collate, pad_id=pad_id, bos_id=bos_id, eos_id=eos_id, shapes=shapes)

    def plan(self, epoch: int) -> list[Indices]:
        """Return the batches of an epoch as pair indices."""
        store = self.store
        return epoch_plan(store.source_lengths, store.target_lengths, self._batch_tokens, self._seed, epoch)

    def batch(self, indices: Indices, epoch: int) -> PairBatch:
        """Return these pairs."""
        numbers = indices.tolist()
        keys = [(epoch, i) for i in numbers]
        return self._collate(
            _encoded([self.store.source(i) for i in numbers], self._source_encode, keys),
            _encoded([self.store.target(i) for i in numbers], self._target_encode, keys),
        )

    def largest(self) -> PairBatch:
        """Return the first epoch's batch with most places, padding included: the one to try memory with."""
        source, target = self.store.source_lengths, self.store.target_lengths
        plan = self.planned(0)
        places = [len(rows) * (int(source[rows].max()) + int(target[rows].max()) + 2) for rows in plan]
        return self.batch(plan[int(np.argmax(places))], 0)


def _encoded(
    sentences: Sequence[Ids], encode: Reencode | None, keys: Sequence[tuple[int, int]]
) -> Sequence[Ids]:
    return sentences if encode is None else encode(sentences, keys)


def sequential_batches(
    pairs: Pairs, *, batch_tokens: int, pad_id: int, bos_id: int, eos_id: int, shapes: Shapes = FREE
) -> Iterator[tuple[Indices, PairBatch]]:
    """Yield every pair once, with others of its length, as (indices of the pairs, batch): to score them.

    Results go back into order by ``out[indices] = result``.
    """
    for indices in cut(np.arange(len(pairs)), pairs.source_lengths, pairs.target_lengths, batch_tokens):
        rows = indices.tolist()
        yield (
            indices,
            collate(
                [pairs.source(i) for i in rows],
                [pairs.target(i) for i in rows],
                pad_id=pad_id,
                bos_id=bos_id,
                eos_id=eos_id,
                shapes=shapes,
            ),
        )
