"""Temperature sampling of several corpora, with exact proportions in every epoch (Arivazhagan et al. 2019).

A corpus of n pairs is drawn in proportion to weight * n^(1/temperature). An epoch has as many pairs as all
corpora together. Each corpus gives its share from an endless sequence of its own permutations, in which every
epoch begins where the last one ended: no pair is drawn twice as often as another. All of it is a function of
(sizes, weights, temperature, seed, epoch).
"""

from collections.abc import Sequence

import numpy as np

from multihead.data.plan import Indices, shuffle_indices


def shares(sizes: Sequence[int], weights: Sequence[float], temperature: float) -> list[int]:
    """Return the number of pairs that each corpus gives to an epoch; they add up to the sum of the sizes.

    Largest remainders are rounded up. A corpus of positive weight gives at least one pair.

    Args:
        sizes: pairs of each corpus, at least one.
        weights: weight of each corpus, at least one of them positive.
        temperature: 1: by size; larger: more equal.
    """
    total = sum(sizes)
    logits = np.log(np.array(sizes, dtype=np.float64)) / temperature
    mass = np.array(weights, dtype=np.float64) / max(weights) * np.exp(logits - logits.max())
    exact = total * mass / mass.sum()
    whole = np.floor(exact).astype(np.int64)
    for index in np.argsort(whole - exact, kind="stable")[: total - int(whole.sum())]:
        whole[index] += 1
    for index in np.flatnonzero((whole == 0) & (np.array(weights) > 0)):
        if whole.max() > 1:
            whole[int(whole.argmax())] -= 1
            whole[index] += 1
    return [int(count) for count in whole]


def draw_epoch(sizes: Sequence[int], counts: Sequence[int], seed: int, epoch: int) -> Indices:
    """Return the pairs of an epoch, as indices into the corpora laid end to end, corpus by corpus."""
    starts = np.cumsum([0, *sizes[:-1]])
    parts = [
        start + _slice(number, size, epoch * count, (epoch + 1) * count, seed)
        for number, (start, size, count) in enumerate(zip(starts.tolist(), sizes, counts, strict=True))
    ]
    return np.concatenate(parts)


def _slice(number: int, size: int, begin: int, end: int, seed: int) -> Indices:
    """Return the entries [begin, end) of a corpus's endless sequence of permutations."""
    parts: list[Indices] = [np.empty(0, dtype=np.int64)]
    for block in range(begin // size, -(-end // size)):
        permutation = shuffle_indices(size, seed, "corpus", number, block)
        parts.append(permutation[max(0, begin - block * size) : end - block * size])
    return np.concatenate(parts)
