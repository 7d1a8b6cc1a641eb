"""Detects passages in which every line is paired with the next or the previous line's translation."""

import numpy as np
from numpy.typing import NDArray

SWITCH = 7.0
"""Cost of starting and of ending a passage: a shift begins at one line in a thousand."""
MOST_ODDS = 6.0
"""Cap on the evidence of a line, so that no single line makes a passage."""

Floats = NDArray[np.float64]


def line_shifts(direct: Floats, later: Floats, earlier: Floats) -> NDArray[np.int64]:
    """Return the shift of the targets at each line: 0, 1 or -1, (N,).

    The most probable path of three states (Viterbi), given the log-odds that each source belongs to its own,
    to the next and to the previous line's target.
    """
    odds = np.clip(np.stack([direct, later, earlier], axis=1), -MOST_ODDS, MOST_ODDS)
    cost = SWITCH * (1 - np.eye(3))
    score = odds[0] - np.array([0.0, SWITCH, SWITCH])
    back = np.zeros((len(odds), 3), dtype=np.int64)
    for number in range(1, len(odds)):
        reached = score[:, None] - cost
        back[number] = reached.argmax(axis=0)
        score = reached.max(axis=0) + odds[number]
    state = int((score - np.array([0.0, SWITCH, SWITCH])).argmax())
    path = np.zeros(len(odds), dtype=np.int64)
    for number in range(len(odds) - 1, -1, -1):
        path[number] = state
        state = int(back[number, state])
    return np.array([0, 1, -1])[path]
