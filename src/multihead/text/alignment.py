"""Where two files of different length part ways."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_WORST = 3.0
"""Cap on one line's cost, so that a single odd pair does not outweigh a shift."""


def first_suspicious_line(source: Sequence[int], target: Sequence[int]) -> int:
    """Guess the first line (from 1) at which two files of different length no longer belong together.

    Translations are about as long as their sources. So of all places k, the one is chosen where "in
    line before k, shifted by the missing lines from k on" makes the pairs' lengths agree best: one pass.

    Args:
        source: characters in each line of the one file.
        target: characters in each line of the other.
    """
    longer, shorter = (source, target) if len(source) > len(target) else (target, source)
    many, few = _logs(longer), _logs(shorter)
    kept = len(few)
    if kept == 0:
        return 1
    usual = np.median(many) - np.median(few)
    in_line = np.minimum(np.abs(many[:kept] - few - usual), _WORST)
    shifted = np.minimum(np.abs(many[len(many) - kept :] - few - usual), _WORST)
    # cost_k = in_line[0..k) + shifted[k..end), for every k from 0 to the end
    costs = np.concatenate([[0.0], np.cumsum(in_line)]) + np.concatenate(
        [np.cumsum(shifted[::-1])[::-1], [0.0]]
    )
    return int(np.argmin(costs)) + 1


def _logs(lengths: Sequence[int]) -> npt.NDArray[np.float64]:
    return np.log1p(np.asarray(lengths, dtype=np.float64))
