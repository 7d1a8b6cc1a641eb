"""Batch plan of an epoch: shuffled batches of pairs of similar length, within a token budget.

The plan is a function of (lengths, budget, seed, epoch). Pairs are shuffled and batched by length within
large chunks, which keeps padding small and batches random; then the batches are shuffled.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from multihead.data.shuffling import Indices, map_file, scratch, shuffle_indices, shuffled_blocks
from multihead.system import randomness

__all__ = [
    "EpochPlan",
    "Indices",
    "Lengths",
    "batch_by_length",
    "epoch_plan",
    "evenly_spaced",
    "first_of_shuffled",
    "shuffle_indices",
]

CHUNK = 1 << 17
"""Pairs batched together: about 600 batches of 4,096 tokens, enough for little padding in little memory."""

MAX_MULTIPLE = 8
"""Batch sizes are multiples of up to this many pairs. Recurring shapes let matrix libraries reuse compiled
code and memory: up to 1.18 times as fast, in 0.8 of the memory."""

Lengths = NDArray[np.integer]


class EpochPlan(Sequence[Indices]):
    """The batches of an epoch, in their order, as arrays of pair indices.

    Args:
        pairs: the pairs of all batches, laid end to end; perhaps memory-mapped.
        ends: where each batch ends in ``pairs``.
        order: the batches in the order of the epoch.
    """

    def __init__(self, pairs: NDArray[np.integer], ends: Indices, order: Indices) -> None:
        self._pairs, self._ends, self._order = pairs, ends, order

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, number: int) -> Indices: ...
    @overload
    def __getitem__(self, number: slice) -> list[Indices]: ...
    def __getitem__(self, number: int | slice) -> Indices | list[Indices]:
        if isinstance(number, slice):
            return [self._batch(place) for place in self._order[number].tolist()]
        return self._batch(int(self._order[number]))

    def _batch(self, place: int) -> Indices:
        begin = int(self._ends[place - 1]) if place else 0
        return np.asarray(self._pairs[begin : int(self._ends[place])]).astype(np.int64, copy=False)


def epoch_plan(
    source_lengths: Lengths,
    target_lengths: Lengths,
    batch_tokens: int,
    seed: int,
    epoch: int,
    *,
    chosen: Indices | None = None,
    folder: Path | None = None,
) -> EpochPlan:
    """Return the batches of an epoch as arrays of pair indices; each pair is in exactly one.

    The plan of more than a chunk of pairs is a memory-mapped file: it takes the memory of a few chunks and 16
    bytes a batch.

    Args:
        source_lengths: length of each source in tokens, without special tokens, (N,).
        target_lengths: length of each target in tokens, without special tokens, (N,).
        batch_tokens: maximum number of target tokens in a batch, with end tokens and without padding. Each
            side, padding included, stays within twice as many. A longer pair is a batch of its own.
        seed: with the epoch, seeds the order.
        epoch: number of the epoch, from 0.
        chosen: the pairs of the epoch, perhaps with repetitions; None: each once.
        folder: folder of temporary files, see ``shuffling.scratch``.

    Raises:
        UserError: the disk is full.
    """
    count = len(source_lengths) if chosen is None else len(chosen)
    ends = [np.zeros(1, dtype=np.int64)]

    def chunks() -> Iterator[Indices]:
        for block in shuffled_blocks(count, seed, "pairs of epoch", epoch, size=CHUNK, folder=folder):
            chunk = block if chosen is None else chosen[block]
            batches = batch_by_length(chunk, source_lengths, target_lengths, batch_tokens)
            ends.append(ends[-1][-1] + np.cumsum([len(batch) for batch in batches], dtype=np.int64))
            yield np.concatenate([chunk[:0], *batches])

    pairs = _laid_out(chunks(), count, len(source_lengths), folder)
    every = np.concatenate(ends[1:])
    return EpochPlan(pairs, every, shuffle_indices(len(every), seed, "batches of epoch", epoch))


def _laid_out(
    chunks: Iterator[Indices], count: int, largest: int, folder: Path | None
) -> NDArray[np.integer]:
    """Return the chunks laid end to end: one in memory, several as a memory-mapped file."""
    if count <= CHUNK:
        return np.concatenate([*chunks])
    kind = np.dtype("<u4" if largest < 1 << 32 else "<i8")
    with scratch(folder) as file:
        for chunk in chunks:
            file.write(chunk.astype(kind).data)
        return map_file(file, kind, count)


def first_of_shuffled(count: int, first: int, seed: int, *keys: int | str) -> Indices:
    """Return the ``first`` elements of :func:`shuffle_indices`, using memory for ``first`` elements only."""
    generator = np.random.PCG64(randomness.derive(seed, *keys))
    draws, places = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    for start in range(0, count, CHUNK):
        more = generator.random_raw(min(CHUNK, count - start))
        draws = np.concatenate([draws, more])
        places = np.concatenate([places, np.arange(start, start + len(more))])
        least = np.argsort(draws, kind="stable")[:first]
        draws, places = draws[least], places[least]
    return places


def evenly_spaced(total: int, most: int) -> Indices:
    """Return at most ``most`` evenly spaced indices below ``total``."""
    return np.linspace(0, total - 1, min(total, most)).round().astype(np.int64)


def batch_by_length(
    indices: Indices, source_lengths: Lengths, target_lengths: Lengths, batch_tokens: int
) -> list[Indices]:
    """Divide the pairs at ``indices`` into batches of similar lengths and of nearly equal size.

    Pairs are points in the plane of source and target lengths. A set too large for a batch is split along one
    of the two lengths, at the candidate that leaves the least padding (a k-d tree). On Multi30k with 4,096
    tokens a batch, 3.5 % of all positions are padding; sorting by target, then source length gives 6 %.

    Limits as in :func:`epoch_plan`. Ties between pairs of equal lengths follow the order of ``indices``.
    """
    if not len(indices):
        return []
    lengths_2N = np.stack([source_lengths[indices], target_lengths[indices]]).astype(np.int32, copy=False)
    lengths_2N += 1  # the end tokens
    # Splits fall between pairs, or between fours or eights of them: leave some room.
    spare = min(max(2 * int(lengths_2N[1].mean()), batch_tokens // 32), batch_tokens // 2)
    parts = -(-int(lengths_2N[1].sum()) // (batch_tokens - spare))
    return list(_split(indices, lengths_2N, batch_tokens, parts))


def _split(indices: Indices, lengths_2N: Lengths, batch_tokens: int, parts: int) -> Iterator[Indices]:
    if len(indices) == 1 or (parts == 1 and _fit(lengths_2N, batch_tokens)):
        yield indices
        return
    tried = [_best_split(lengths_2N, side, max(parts, 2)) for side in (0, 1)]
    best = min(tried, key=lambda split: split.places)
    indices, lengths_2N = indices[best.order], lengths_2N[:, best.order]
    yield from _split(indices[: best.at], lengths_2N[:, : best.at], batch_tokens, best.left)
    yield from _split(indices[best.at :], lengths_2N[:, best.at :], batch_tokens, best.right)


def _fit(lengths_2N: Lengths, batch_tokens: int) -> bool:
    padded = lengths_2N.shape[1] * int(lengths_2N.max())
    return int(lengths_2N[1].sum()) <= batch_tokens and padded <= 2 * batch_tokens


def _multiple(pairs: int) -> int:
    """Return the power of two that sizes of batches of about ``pairs`` pairs are multiples of."""
    return min(MAX_MULTIPLE, 1 << max(0, (pairs // 32).bit_length() - 1))


class _Split(NamedTuple):
    places: int  # tokens of both halves, padding included, if each were one batch
    order: Indices
    at: int
    left: int  # number of batches to make of the left half
    right: int


def _best_split(lengths_2N: Lengths, side: int, parts: int) -> _Split:
    """Return the best split along one side's lengths, near the middle, into whole numbers of equal parts."""
    key = lengths_2N[side]
    order = np.argsort(np.minimum(key, 65_535).astype(np.uint16), kind="stable")  # 16 bits: radix sort
    key, other = key[order], lengths_2N[1 - side][order]
    written = np.cumsum(key if side == 1 else other)
    left = np.arange(max(1, parts // 4), min(parts - 1, -(-3 * parts // 4)) + 1)
    at = np.searchsorted(written, written[-1] * left // parts)
    multiple = _multiple(len(order) // parts)
    at = ((at + multiple // 2) // multiple * multiple).clip(1, len(order) - 1)
    new = np.diff(at, prepend=0) > 0  # with long pairs, several parts may end at one position
    at, left = at[new], left[new]
    spans = np.maximum.reduceat(other, np.concatenate([[0], at]))
    longest_left = key[at - 1] + np.maximum.accumulate(spans[:-1])
    longest_right = key[-1] + np.maximum.accumulate(spans[:0:-1])[::-1]
    places = longest_left * at + longest_right * (len(order) - at)
    best = int(places.argmin())
    return _Split(int(places[best]), order, int(at[best]), int(left[best]), parts - int(left[best]))
