"""Statistics of memory-mapped arrays, one block in memory at a time."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 20
"""Elements in memory at once."""


def blocks(values: NDArray[np.integer]) -> Iterator[NDArray[np.integer]]:
    """Yield an array in blocks."""
    for start in range(0, len(values), BLOCK):
        yield values[start : start + BLOCK]


def quantiles(values: NDArray[np.integer], which: Sequence[float]) -> list[float]:
    """Return quantiles of small natural numbers, interpolated linearly as ``np.quantile`` does.

    Raises:
        ValueError: there are no values.
    """
    counts = np.zeros(int(values.max()) + 1, dtype=np.int64)
    for block in blocks(values):
        counts += np.bincount(block, minlength=len(counts))
    up_to = np.cumsum(counts)
    out = []
    for quantile in which:
        rank = quantile * (len(values) - 1)
        low, high = np.searchsorted(up_to, [int(rank), min(int(rank) + 1, len(values) - 1)], side="right")
        out.append(float(low + (high - low) * (rank - int(rank))))
    return out
