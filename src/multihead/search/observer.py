"""The branches of each search step, for an observer that draws the search as a tree."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from torch import Tensor


class Fate(IntEnum):
    """The outcome of a branch."""

    PRUNED = 0
    KEPT = 1
    FINISHED = 2
    CUT = 3


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches considered in one step: X for each of the B sentences still searched.

    Tensors have shape (B, X), except ``sentences``, (B,).

    Attributes:
        step: counted from 0.
        sentences: indices into the input.
        parents: the row, within its sentence, that each branch extends (at step 0, row 0).
        tokens: the token that each adds.
        log_probabilities: the sum so far, this token included; -infinity marks a branch that is forbidden or
            belongs to an unused row.
        fates: a ``Fate`` for each.
        rows: the row in which a kept branch continues; -1 for the others.
    """

    step: int
    sentences: Tensor
    parents: Tensor
    tokens: Tensor
    log_probabilities: Tensor
    fates: Tensor
    rows: Tensor


Observer = Callable[[Branches], None]
