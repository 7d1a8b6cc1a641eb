"""Sides of a corpus that are closed sets: labels, tags, canned answers.

Splits that share no sentence test a model on unseen sentences. A label must be seen in training: holding it
out would train without it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multihead.data.hashes import Hashes, of_pairs

CLOSED = 0.125
"""Maximum number of distinct sentences per pair of a closed set."""


def is_closed(frequencies: NDArray[np.int64]) -> bool:
    """Return whether a side is a closed set.

    Args:
        frequencies: counts, on this side, of the sentences of some of its pairs, (N,). The mean of
            1 / frequency over pairs is the number of distinct sentences per pair.
    """
    return bool(len(frequencies)) and float(np.mean(1 / frequencies)) <= CLOSED


def telling(sources: Hashes, targets: Hashes) -> Sequence[Hashes]:
    """Return the sides that are not closed sets, (N,) each; if both are, the pairs themselves."""
    open_sides = [
        side for side in (sources, targets) if len(np.unique(side)) > CLOSED * len(side) or not len(side)
    ]
    return open_sides or [of_pairs(sources, targets)]
