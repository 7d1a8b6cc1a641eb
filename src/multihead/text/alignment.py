"""Misalignment of two parallel files that differ in their number of lines."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_MAX_COST = 3.0
"""Cap on the cost of one pair, so that a single outlier does not outweigh a shift."""


def first_suspicious_line(source: Sequence[int], target: Sequence[int]) -> int:
    """Return the most plausible line, from 1, at which two parallel files lose their alignment.

    A translation is about as long as its source. Of all lines k, this is the one where pairing the lines
    before k directly, and those from k on shifted by the missing lines, makes the lengths agree best.

    Args:
        source: length of each source line, in characters.
        target: length of each target line, in characters.
    """
    longer, shorter = (source, target) if len(source) > len(target) else (target, source)
    many, few = _log_lengths(longer), _log_lengths(shorter)
    count = len(few)
    if count == 0:
        return 1
    typical = np.median(many) - np.median(few)
    direct = np.minimum(np.abs(many[:count] - few - typical), _MAX_COST)
    shifted = np.minimum(np.abs(many[len(many) - count :] - few - typical), _MAX_COST)
    # cost_k = direct[0..k) + shifted[k..end), for every k from 0 to the end
    costs = np.concatenate([[0.0], np.cumsum(direct)]) + np.concatenate(
        [np.cumsum(shifted[::-1])[::-1], [0.0]]
    )
    return int(np.argmin(costs)) + 1


def _log_lengths(lengths: Sequence[int]) -> npt.NDArray[np.float64]:
    return np.log1p(np.asarray(lengths, dtype=np.float64))
