"""Validation pairs held out of several corpora, which may share sentences.

Corpora of one text in several languages hold out the same lines: pairs that share a sentence with one held
out before are taken first. In the end no corpus trains on a sentence that any corpus holds out. Sides
that are closed sets, such as labels, do not count (``closed_sets``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from multihead.data.closed_sets import telling
from multihead.data.hashes import Hashes, are_in, count_in
from multihead.data.plan import shuffle_indices
from multihead.data.selection import (
    CANDIDATES_PER_PAIR,
    DROPPED,
    MAX_HELD_OUT,
    MIN_HELD_OUT,
    TRAIN,
    VALID,
)


@dataclass(frozen=True)
class Sides:
    """Hashes of both sides of the usable pairs of a corpus, (N,) each."""

    source: Hashes
    target: Hashes

    @cached_property
    def telling(self) -> Sequence[Hashes]:
        """The sides that are no closed sets, see ``closed_sets.telling``."""
        return telling(self.source, self.target)

    def touching(self, ordered: Hashes) -> NDArray[np.bool_]:
        """Return True for each pair with a sentence among the sorted hashes, (N,)."""
        if not len(ordered):
            return np.zeros(len(self.source), dtype=np.bool_)
        found: NDArray[np.bool_] = np.any([are_in(ordered, side) for side in self.telling], axis=0)
        return found

    def frequency(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how often the two sentences of each of the rows occur in the corpus, added up, (R,)."""
        found: NDArray[np.int64] = np.sum(
            [count_in(np.sort(side), side[rows]) for side in self.telling], axis=0
        )
        return found


def held_out(
    corpora: Sequence[Sides], own: Sequence[bool], fraction: float, seed: int
) -> list[NDArray[np.uint8]]:
    """Return TRAIN, VALID or DROPPED for each pair of each corpus.

    Args:
        corpora: hashes of the sentences.
        own: whether a corpus has validation files of its own; nothing is held out of it then.
        fraction: fraction of the pairs to hold out, clamped to 50 to 2,000 pairs and at most half of all.
        seed: seeds the choice.
    """
    taken: Hashes = np.empty(0, dtype=np.uint64)
    chosen: list[NDArray[np.intp]] = []
    for number, (sides, has_files) in enumerate(zip(corpora, own, strict=True)):
        total = len(sides.source)
        count = max(MIN_HELD_OUT, min(round(fraction * total), MAX_HELD_OUT))
        count = 0 if has_files else max(1, min(count, total // 2))
        order = shuffle_indices(total, seed, "held out", number)
        touching = sides.touching(taken)[order]
        # Of the others, those with the rarest sentences, so that few training pairs share one.
        fresh = order[~touching][: CANDIDATES_PER_PAIR * count]
        fresh = fresh[np.argsort(sides.frequency(fresh), kind="stable")]
        rows = np.concatenate([order[touching], fresh])[:count]
        chosen.append(rows)
        taken = np.unique(np.concatenate([taken, *(side[rows] for side in sides.telling)]))
    found = []
    for sides, rows in zip(corpora, chosen, strict=True):
        roles = np.where(sides.touching(taken), DROPPED, TRAIN).astype(np.uint8)
        roles[rows] = VALID
        found.append(roles)
    return found
