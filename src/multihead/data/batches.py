"""Batches of sentence pairs: collation, and the stream of training batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multihead.batch import PairBatch, Source
from multihead.data.plan import EpochPlan, Indices, Lengths, batch_by_length, epoch_plan
from multihead.data.stream import START, Stream, StreamPosition

__all__ = [
    "BatchStream",
    "PairList",
    "Pairs",
    "Reencode",
    "Shapes",
    "StreamPosition",
    "collate",
    "epoch_plan",
    "sequential_batches",
]

Ids = Sequence[int] | NDArray[np.integer]
Reencode = Callable[[Sequence[Ids], Sequence[tuple[int, int]]], Sequence[Ids]]
"""(sentences, their (epoch, pair index)) -> new token ids of the same texts; a function of its arguments."""
Mark = Callable[
    [Sequence[Ids], Sequence[Ids], Sequence[tuple[int, int]]], tuple[Sequence[Ids], Sequence[Ids]]
]
"""(sources, targets, their (epoch, pair index)) -> the pairs with reserved symbols; see ``data.marking``."""


class Pairs(Protocol):
    """Sentence pairs as token ids without special tokens; implemented by ``TokenStore``."""

    def __len__(self) -> int: ...
    def source(self, index: int) -> Ids:
        """Return the token ids of a source sentence."""

    def target(self, index: int) -> Ids:
        """Return the token ids of a target sentence."""

    @property
    def source_lengths(self) -> Lengths:
        """Length of each source in tokens, (N,)."""

    @property
    def target_lengths(self) -> Lengths:
        """Length of each target in tokens, (N,)."""


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
    """The shapes that batches are padded to, so that compiled kernels and graphs are reused.

    Attributes:
        multiple: pad widths to a multiple of this.
        few_rows: round the number of rows up to one of eight values between powers of two.
    """

    multiple: int = 1
    few_rows: bool = False

    def rows(self, rows: int) -> int:
        """Return the padded number of rows, at most an eighth more."""
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
    """Collate B pairs: source EOS, BOS target EOS, padded on the right.

    B and the widths that the model sees, S and T - 1, are rounded up by ``shapes``. Added rows hold only the
    end token and have no target to predict.
    """
    blank: list[Ids] = [[]] * (shapes.rows(len(sources)) - len(sources))
    ids_BS, lengths_B = _pad([*sources, *blank], pad_id, eos_id, shapes.multiple)
    out_BT, target_lengths_B = _pad([*targets, *blank], pad_id, eos_id, shapes.multiple)
    target_lengths_B[len(targets) :] = 0
    begin_B1 = torch.full((len(out_BT), 1), bos_id)
    return PairBatch(
        source=Source(ids_BS, lengths_B),
        target_BT=torch.cat([begin_B1, out_BT], dim=1),
        target_lengths_B=target_lengths_B,
        tokens=int(target_lengths_B.sum()),
    )


def _pad(sequences: Sequence[Ids], pad_id: int, eos_id: int, multiple: int) -> tuple[Tensor, Tensor]:
    """Return padded ids with end tokens, (B, N), and lengths that include the end token, (B,)."""
    lengths_B = np.array([len(ids) + 1 for ids in sequences], dtype=np.int64)
    width = -(-int(lengths_B.max()) // multiple) * multiple
    ids_BN = np.full((len(sequences), width), pad_id, dtype=np.int64)
    for row, ids in zip(ids_BN, sequences, strict=True):
        row[: len(ids)] = ids
        row[len(ids)] = eos_id
    return torch.from_numpy(ids_BN), torch.from_numpy(lengths_B)


class BatchStream(Stream[PairBatch]):
    """Endless stream of sentence-pair batches; see :class:`Stream`."""

    def __init__(
        self,
        store: Pairs,
        *,
        batch_tokens: int,
        seed: int,
        pad_id: int,
        bos_id: int,
        eos_id: int,
        position: StreamPosition = START,
        source_encode: Reencode | None = None,
        target_encode: Reencode | None = None,
        mark: Mark | None = None,
        shapes: Shapes = FREE,
        place: str = "",
    ) -> None:
        assert len(store) > 0, "no pairs to train on"
        super().__init__(position)
        self.store, self.place = store, place
        self._batch_tokens, self._seed = batch_tokens, seed
        self._source_encode, self._target_encode, self._mark = source_encode, target_encode, mark
        self._collate = partial(collate, pad_id=pad_id, bos_id=bos_id, eos_id=eos_id, shapes=shapes)

    def plan(self, epoch: int) -> EpochPlan:
        """Return the batches of an epoch as arrays of pair indices."""
        return self._plan(epoch)

    def _plan(self, epoch: int, chosen: Indices | None = None) -> EpochPlan:
        """Plan an epoch; temporary files go beside the store, which is on a disk with room."""
        lengths = self.store.source_lengths, self.store.target_lengths
        folder = getattr(self.store, "folder", None)
        return epoch_plan(*lengths, self._batch_tokens, self._seed, epoch, chosen=chosen, folder=folder)

    def batch(self, indices: Indices, epoch: int) -> PairBatch:
        """Collate the pairs at ``indices``, re-encoded for this epoch."""
        numbers = indices.tolist()
        keys = [(epoch, i) for i in numbers]
        sources: Sequence[Ids] = [self.store.source(i) for i in numbers]
        targets: Sequence[Ids] = [self.store.target(i) for i in numbers]
        if self._mark is not None:
            sources, targets = self._mark(sources, targets, keys)
        return self._collate(
            _encode(sources, self._source_encode, keys), _encode(targets, self._target_encode, keys)
        )

    def names(self, indices: Indices) -> list[str]:
        """Return file and line of each pair if they are known; see :meth:`Stream.names`."""
        lines = getattr(self.store, "lines", None)
        if lines is None:
            return super().names(indices)
        place = f"{self.place}:" if self.place else "pair "
        return [f"{place}{line}" for line in lines[indices].tolist()]

    def largest(self) -> PairBatch:
        """Return the batch of the first epoch with the most tokens, padding included, for a memory test.

        Two are compared, since a batch may be cut to phrases (``data.phrases``).
        """
        source, target = self.store.source_lengths, self.store.target_lengths
        plan = self.cached_plan(0)
        places = [len(rows) * (int(source[rows].max()) + int(target[rows].max()) + 2) for rows in plan]
        batches = (self.batch(plan[row], 0) for row in np.argsort(places)[-2:][::-1].tolist())
        return max(batches, key=lambda batch: batch.source.ids_BS.numel() + batch.target_BT.numel())


def _encode(
    sentences: Sequence[Ids], encode: Reencode | None, keys: Sequence[tuple[int, int]]
) -> Sequence[Ids]:
    return sentences if encode is None else encode(sentences, keys)


def sequential_batches(
    pairs: Pairs, *, batch_tokens: int, pad_id: int, bos_id: int, eos_id: int, shapes: Shapes = FREE
) -> Iterator[tuple[Indices, PairBatch]]:
    """Yield each pair once, batched by length, as (pair indices, batch).

    Restore the order of results with ``out[indices] = result``.
    """
    for indices in batch_by_length(
        np.arange(len(pairs)), pairs.source_lengths, pairs.target_lengths, batch_tokens
    ):
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
