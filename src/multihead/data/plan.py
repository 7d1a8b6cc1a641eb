"""Which pairs go into which batch: a plan for an epoch, a function of (lengths, budget, seed, epoch) alone.

Pairs are shuffled, sorted by length within large chunks (so that a batch needs little padding, while
chance decides who meets whom), cut by a budget of target tokens, and the batches shuffled.
"""

import numpy as np
from numpy.typing import NDArray

from multihead import randomness

CHUNK = 1 << 17
"""Pairs sorted together. About 600 batches of 4,096 tokens: padding stays small, and so does memory."""

Lengths = NDArray[np.int32]
Indices = NDArray[np.int64]


def epoch_plan(
    source_lengths: Lengths, target_lengths: Lengths, batch_tokens: int, seed: int, epoch: int
) -> list[Indices]:
    """Return the batches of one epoch as arrays of pair indices; every pair is in exactly one.

    Args:
        source_lengths: pieces of each source (N,), the end symbol not counted.
        target_lengths: pieces of each target (N,), begin and end symbol not counted.
        batch_tokens: most target tokens of a batch, end symbols counted and padding not. Each side,
            padding included, stays within twice as many. A single longer pair is a batch of its own.
        seed: everything random follows from (seed, epoch).
        epoch: counted from 0.
    """
    batches: list[Indices] = []
    order = shuffled(len(source_lengths), seed, "pairs of epoch", epoch)
    for start in range(0, len(order), CHUNK):
        chunk = order[start : start + CHUNK]
        batches += cut(chunk, source_lengths, target_lengths, batch_tokens)
    return [batches[i] for i in shuffled(len(batches), seed, "batches of epoch", epoch)]


def shuffled(count: int, seed: int, *keys: int | str) -> Indices:
    """Return 0 ... count - 1 in an order that depends on (seed, keys) alone.

    Raw output of a bit generator is the one thing that NumPy keeps the same from version to version (NEP 19).
    """
    draws = np.random.PCG64(randomness.derive(seed, *keys)).random_raw(count)
    return np.argsort(draws, kind="stable").astype(np.int64, copy=False)


def cut(
    indices: Indices, source_lengths: Lengths, target_lengths: Lengths, batch_tokens: int
) -> list[Indices]:
    """Sort the pairs at ``indices`` by length, shortest target first, and cut them into even batches.

    Limits as in :func:`epoch_plan`. Pairs of the same lengths keep their order.
    """
    source = source_lengths[indices].astype(np.int64) + 1  # the end symbol
    target = target_lengths[indices].astype(np.int64) + 1
    # Sources rise with one target length and fall with the next: neighbours stay alike where it changes.
    in_order = np.lexsort((np.where(target % 2 == 0, source, -source), target))
    indices, source, target = indices[in_order], source[in_order], target[in_order]
    written = np.concatenate([[0], np.cumsum(target)])  # target tokens before each pair

    batches = []
    start = 0
    while start < len(indices):
        left = int(written[-1] - written[start])
        parts = -(-left // batch_tokens)
        even_share = -(-left // parts)  # rather two half batches at the end than a tiny one
        end = int(np.searchsorted(written, written[start] + even_share, side="right")) - 1
        within = slice(start, max(end, start + 1))
        fitting = min(_fitting(side[within], 2 * batch_tokens) for side in (source, target))
        batches.append(indices[start : start + fitting])
        start += fitting
    return batches


def _fitting(lengths: NDArray[np.int64], most: int) -> int:
    """Return how many of the sequences, at least one, fill no more than ``most`` places when padded."""
    padded = np.maximum.accumulate(lengths) * np.arange(1, len(lengths) + 1)
    return max(1, int(np.searchsorted(padded, most, side="right")))
