"""Holds validation pairs out of several corpora, which may share sentences.

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
        """The sides that are not closed sets, see ``closed_sets.telling``."""
        return telling(self.source, self.target)

    def touching(self, ordered: Hashes) -> NDArray[np.bool_]:
        """Return True for each pair with a sentence among the sorted hashes, (N,)."""
        if not len(ordered):
            return np.zeros(len(self.source), dtype=np.bool_)
        mask: NDArray[np.bool_] = np.any([are_in(ordered, side) for side in self.telling], axis=0)
        return mask

    def frequency(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the summed counts in the corpus of both sentences of each row, (R,)."""
        frequency: NDArray[np.int64] = np.sum(
            [count_in(np.sort(side), side[rows]) for side in self.telling], axis=0
        )
        return frequency


def held_out(
    corpora: Sequence[Sides], own: Sequence[bool], fraction: float, seed: int
) -> list[NDArray[np.uint8]]:
    """Return TRAIN, VALID or DROPPED for each pair of each corpus.

    Args:
        corpora: hashes of the sentences.
        own: whether each corpus has its own validation files, so that nothing is held out of it.
        fraction: fraction of the pairs to hold out, clamped to 50 to 2,000 pairs and at most half of all.
        seed: seeds the choice.
    """
    held_hashes: Hashes = np.empty(0, dtype=np.uint64)
    held_rows: list[NDArray[np.intp]] = []
    for number, (sides, has_files) in enumerate(zip(corpora, own, strict=True)):
        total = len(sides.source)
        count = max(MIN_HELD_OUT, min(round(fraction * total), MAX_HELD_OUT))
        count = 0 if has_files else max(1, min(count, total // 2))
        order = shuffle_indices(total, seed, "held out", number)
        touching = sides.touching(held_hashes)[order]
        # Then pairs with the rarest sentences, so that few training pairs share one.
        fresh = order[~touching][: CANDIDATES_PER_PAIR * count]
        fresh = fresh[np.argsort(sides.frequency(fresh), kind="stable")]
        rows = np.concatenate([order[touching], fresh])[:count]
        held_rows.append(rows)
        held_hashes = np.unique(np.concatenate([held_hashes, *(side[rows] for side in sides.telling)]))
    all_roles = []
    for sides, rows in zip(corpora, held_rows, strict=True):
        roles = np.where(sides.touching(held_hashes), DROPPED, TRAIN).astype(np.uint8)
        roles[rows] = VALID
        all_roles.append(roles)
    return all_roles
