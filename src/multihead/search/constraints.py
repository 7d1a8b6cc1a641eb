"""Constraints: continuations that search must not choose.

A constraint is a pure function of the histories. It names the forbidden continuations, and search sets their
scores to -infinity. The other probabilities stay the model's own.

``history_RT`` holds every row's output so far: begin symbol, forced prefix, tokens. Rows are aligned on the
right and padded with -1.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

Forbidden = tuple[Tensor | slice, Tensor]
"""Rows, and the tokens that may not follow them: a slice and (X,), or indices that broadcast."""

Constraint = Callable[[Tensor], Forbidden]
"""history_RT -> the forbidden continuations."""


def count_written(history_RT: Tensor) -> Tensor:
    """The number of tokens in each row, the begin symbol not counted, (R,)."""
    return (history_RT >= 0).sum(1) - 1


class Banned:
    """Forbid these tokens everywhere (padding, the begin symbol, the unknown piece)."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self.tokens = tuple(tokens)
        self._tokens_X = torch.tensor(self.tokens, dtype=torch.long)

    def __call__(self, history_RT: Tensor) -> Forbidden:
        """See ``Constraint``."""
        return slice(None), self._tokens_X.to(history_RT.device)


def at_least(length: int, eos_id: int) -> Constraint:
    """Return a constraint that forbids the end symbol before ``length`` tokens."""

    def forbid(history_RT: Tensor) -> Forbidden:
        (rows_X,) = (count_written(history_RT) < length).nonzero(as_tuple=True)
        return rows_X, torch.full_like(rows_X, eos_id)

    return forbid


class NoRepeatedNgram:
    """Forbid repeated n-grams (Paulus et al. 2017, sec. 2.5, n = 3)."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, history_RT: Tensor) -> Forbidden:
        """See ``Constraint``."""
        size = self.size
        columns = history_RT.shape[1]
        if columns < size:
            nothing = history_RT.new_empty(0)
            return nothing, nothing
        # An earlier n-gram that begins with the last n - 1 tokens forbids its final token. If these include
        # padding, the whole history follows it, which occurs nowhere else in its row.
        windows_RWN = history_RT.unfold(1, size, 1)
        beginning_R1N = history_RT[:, None, columns - (size - 1) :]
        repeats_RW = (windows_RWN[..., :-1] == beginning_R1N).all(2) & (windows_RWN[..., -1] >= 0)
        rows_X, windows_X = repeats_RW.nonzero(as_tuple=True)
        return rows_X, windows_RWN[rows_X, windows_X, -1]


def forbid_(logits_RV: Tensor, history_RT: Tensor, constraints: Iterable[Constraint]) -> None:
    """Set the forbidden continuations' scores to -infinity, in place."""
    for constraint in constraints:
        rows, tokens = constraint(history_RT)
        if isinstance(rows, slice):
            logits_RV[rows].index_fill_(1, tokens, -torch.inf)
        else:
            logits_RV[rows, tokens] = -torch.inf
