"""What can be seen of a search while it goes on, enough to draw it as a tree."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from torch import Tensor


class Fate(IntEnum):
    """What became of a branch."""

    PRUNED = 0
    KEPT = 1
    FINISHED = 2
    CUT = 3


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches that one step looked at: X for each of the B sentences still searched.

    Tensors of shape (B, X) but for ``sentences``, (B,).

    Attributes:
        step: counted from 0.
        sentences: which sentences, by their place in the input.
        parents: which of its sentence's rows a branch comes from (at step 0 there is only row 0).
        tokens: the token that it adds.
        log_probabilities: the sum so far, this token included; -infinity marks a branch that is none
            (forbidden, or of a row no longer in use).
        fates: a ``Fate`` each.
        rows: the row in which a kept branch goes on; -1 for others.
    """

    step: int
    sentences: Tensor
    parents: Tensor
    tokens: Tensor
    log_probabilities: Tensor
    fates: Tensor
    rows: Tensor


Observer = Callable[[Branches], None]
