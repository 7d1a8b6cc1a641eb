"""Sides of a corpus that are closed sets: labels, tags, canned answers.

Sets of pairs that share no sentence are for testing what a model makes of sentences that it has not met. A
label is to be met: who holds it out trains without it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multihead.data.hashes import Hashes, of_pairs

CLOSED = 0.125
"""Up to so many different sentences a pair, a side is a closed set."""


def is_closed(frequencies: NDArray[np.int64]) -> bool:
    """Return whether a side is a closed set.

    Args:
        frequencies: how often the sentences of some of its pairs occur in it, (N,). The mean of 1 / frequency
            over pairs is the number of different sentences a pair.
    """
    return bool(len(frequencies)) and float(np.mean(1 / frequencies)) <= CLOSED


def telling(sources: Hashes, targets: Hashes) -> Sequence[Hashes]:
    """Return the sides that are no closed sets, (N,) each; where both are, the pairs themselves."""
    open_sides = [
        side for side in (sources, targets) if len(np.unique(side)) > CLOSED * len(side) or not len(side)
    ]
    return open_sides or [of_pairs(sources, targets)]
