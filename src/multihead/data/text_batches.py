"""Batches of texts, or pairs of texts, of similar length: the stream of training batches, and collation."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from multihead.batch import Batch, Input, LabelledBatch
from multihead.data.plan import EpochPlan, Indices, Lengths, batch_by_length, epoch_plan, evenly_spaced
from multihead.data.store import TokenStore
from multihead.data.stream import START, Stream, StreamPosition
from multihead.text.bpe_dropout import BPEDropout
from multihead.text.tokenizer import Tokenizer

SPECIALS = 3
"""Maximum number of special tokens in an input: [CLS] first [SEP] second [SEP]."""
MULTIPLE = 8
"""Inputs are padded to multiples of this, because matrix libraries are faster with few shapes."""

Collate = Callable[[Indices, int], Batch]
"""(texts, epoch) -> batch; a function of its arguments."""
Parts = tuple[NDArray[np.integer], NDArray[np.integer] | None]
"""A first segment and an optional second one."""


class TextsStream(Stream[Batch]):
    """Endless stream of text batches, see :class:`Stream`; each epoch has every text once.

    Args:
        lengths: length of each text in tokens, (N,).
        collate: makes a batch.
        batch_tokens: maximum number of tokens in a batch.
        seed: with the epoch, seeds the order.
        position: the first batch to yield.
        folder: folder of the plan's temporary files, see ``data.shuffling.scratch``.
    """

    def __init__(
        self,
        lengths: Lengths,
        collate: Collate,
        *,
        batch_tokens: int,
        seed: int,
        position: StreamPosition = START,
        folder: Path | None = None,
    ) -> None:
        super().__init__(position)
        self.lengths, self._collate, self._folder = lengths, collate, folder
        self._batch_tokens, self._seed = batch_tokens, seed

    def plan(self, epoch: int) -> EpochPlan:
        """Return the indices of the texts of each batch of an epoch."""
        lengths, folder = self.lengths, self._folder
        return epoch_plan(lengths, lengths, self._batch_tokens, self._seed, epoch, folder=folder)

    def batch(self, indices: Indices, epoch: int) -> Batch:
        """Collate the texts at ``indices``."""
        return self._collate(indices, epoch)

    def largest(self) -> Batch:
        """Return the batch of the first epoch with the most tokens, padding included."""
        plan = self.cached_plan(0)
        places = [len(rows) * int(self.lengths[rows].max()) for rows in plan]
        return self._collate(plan[int(np.argmax(places))], 0)


def lengths(store: TokenStore, max_length: int) -> Lengths:
    """Return the length of each text in tokens after truncation, (N,), in two bytes each if they fit."""
    most = max_length - SPECIALS
    lengths_N: Lengths = np.empty(len(store), np.uint16 if most < 1 << 16 else np.int32)
    np.minimum(store.source_lengths, most, out=lengths_N, casting="unsafe")
    return lengths_N


def as_input(texts: Sequence[Parts], tokenizer: Tokenizer) -> Input:
    """Collate texts into an encoder input with [CLS] and [SEP], padded on the right."""
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


def truncate(parts: Parts, max_length: int) -> Parts:
    """Return a text or a pair of texts that fits into ``max_length`` positions with its special tokens.

    A pair loses tokens at the end of its longer text, one by one, and of the second if both are equally
    long (the authors' ``_truncate_seq_pair``, github.com/google-research/bert, run_classifier.py).
    """
    first, second = parts
    if second is None:
        return first[: max_length - 2], None
    most = max_length - SPECIALS
    half = most // 2
    if len(first) + len(second) <= most:
        return parts
    if len(first) <= half:
        return first, second[: most - len(first)]
    if len(second) <= half:
        return first[: most - len(second)], second
    return first[: most - half], second[:half]


def collate_labelled(
    store: TokenStore,
    rows: Indices,
    tokenizer: Tokenizer,
    max_length: int,
    *,
    dropout: BPEDropout | None = None,
    epoch: int = 0,
) -> LabelledBatch:
    """Collate texts of a store (``data.texts``) with their classes; longer texts are truncated.

    Args:
        store: the texts.
        rows: their numbers.
        tokenizer: their tokenizer.
        max_length: maximum length of an input.
        dropout: encodes them anew for each epoch; None: as they are stored.
        epoch: the epoch.
    """
    label_rows = [store.target(i).tolist() for i in rows.tolist()]
    texts: list[Parts] = []
    for i, (_, *border) in zip(rows.tolist(), label_rows, strict=True):
        ids = store.source(i)
        first, second = (ids[: border[0]], ids[border[0] :]) if border else (ids, None)
        if dropout:
            first = dropout.reencode([first], [(epoch, i, 0)])[0]
            second = None if second is None else dropout.reencode([second], [(epoch, i, 1)])[0]
        texts.append((first, second))
    inputs = as_input([truncate(parts, max_length) for parts in texts], tokenizer)
    labels = torch.tensor([label for label, *_ in label_rows])
    return LabelledBatch(inputs, labels, int(inputs.lengths_B.sum()))


def evaluation_batches(lengths: Lengths, batch_tokens: int, most: int) -> list[Indices]:
    """Return batches of at most ``most`` texts, evenly spaced over all, for evaluation."""
    return batch_by_length(evenly_spaced(len(lengths), most), lengths, lengths, batch_tokens)
