"""Batches of single texts of similar length, in an order that a position is enough to go on from."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from multihead.batch import Batch, Input, LabelledBatch
from multihead.data.plan import Indices, Lengths, cut, epoch_plan
from multihead.data.store import TokenStore
from multihead.data.stream import START, Position, Stream
from multihead.text.tokenizer import Tokenizer

SPECIALS = 3
"""[CLS] first [SEP] second [SEP]: symbols that an input has besides its pieces, at most."""
MULTIPLE = 8
"""Inputs are padded to multiples of this: few different shapes, which the matrix library likes."""

Collate = Callable[[Indices, int], Batch]
"""(texts, epoch) -> batch, the same for the same arguments."""
Parts = tuple[NDArray[np.integer], NDArray[np.integer] | None]
"""A first text and, maybe, a second."""


class TextsStream(Stream[Batch]):
    """The endless stream of training batches, each with the position after it; every epoch is all texts once.

    Args:
        lengths: pieces of each text, (N,).
        collate: makes the batches.
        batch_tokens: most pieces a batch.
        seed: the order follows from (seed, epoch).
        position: where to begin.
    """

    def __init__(
        self,
        lengths: Lengths,
        collate: Collate,
        *,
        batch_tokens: int,
        seed: int,
        position: Position = START,
    ) -> None:
        super().__init__(position)
        self.lengths, self._collate = lengths, collate
        self._batch_tokens, self._seed = batch_tokens, seed

    def plan(self, epoch: int) -> list[Indices]:
        """Return the texts of each batch of an epoch."""
        return epoch_plan(self.lengths, self.lengths, self._batch_tokens, self._seed, epoch)

    def batch(self, indices: Indices, epoch: int) -> Batch:
        """Return these texts."""
        return self._collate(indices, epoch)

    def largest(self) -> Batch:
        """Return the batch of the first epoch with most places."""
        plan = self.planned(0)
        places = [len(rows) * int(self.lengths[rows].max()) for rows in plan]
        return self._collate(plan[int(np.argmax(places))], 0)


def lengths(store: TokenStore, max_length: int) -> Lengths:
    """Return how many pieces of each text an input takes in."""
    return np.minimum(store.source_lengths, max_length - SPECIALS)


def as_input(texts: Sequence[Parts], tokenizer: Tokenizer) -> Input:
    """Return texts as what an encoder reads, padded on the right."""
    rows, borders = [], []
    for first, second in texts:
        row = [tokenizer.bos_id, *first.tolist(), tokenizer.eos_id]
        borders.append(len(row))
        rows.append(row if second is None else [*row, *second.tolist(), tokenizer.eos_id])
    lengths_B = np.array([len(row) for row in rows])
    width = -(-int(lengths_B.max()) // MULTIPLE) * MULTIPLE
    ids_BN = np.full((len(rows), width), tokenizer.pad_id, dtype=np.int64)
    for place, row in zip(ids_BN, rows, strict=True):
        place[: len(row)] = row
    columns_N = np.arange(width)
    second_BN = (columns_N >= np.array(borders)[:, None]) & (columns_N < lengths_B[:, None])
    return Input(
        torch.from_numpy(ids_BN), torch.from_numpy(second_BN.astype(np.int64)), torch.from_numpy(lengths_B)
    )


def labelled(store: TokenStore, rows: Indices, tokenizer: Tokenizer, max_length: int) -> LabelledBatch:
    """Return some texts of a store with their classes; those that are longer are cut off at their end."""
    most = max_length - 2
    read = as_input([(store.source(i)[:most], None) for i in rows.tolist()], tokenizer)
    labels = [int(store.target(i)[0]) for i in rows.tolist()]
    return LabelledBatch(read, torch.tensor(labels), int(read.lengths_B.sum()))


def in_order(lengths: Lengths, batch_tokens: int, most: int) -> list[Indices]:
    """Return batches of at most ``most`` texts, spread over all, to measure on."""
    chosen = np.linspace(0, len(lengths) - 1, min(most, len(lengths))).round().astype(np.int64)
    return cut(chosen, lengths, lengths, batch_tokens)
