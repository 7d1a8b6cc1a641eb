"""Constraints: the continuations that search must not take.

A constraint is a pure function of the histories: it names the forbidden continuations, and search sets
their scores to -infinity. The probabilities of what remains stay the model's own.

``history_RT`` holds what every row has written: the begin symbol, forced prefix, tokens; set flush right,
with -1 in the columns before a shorter one.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

Forbidden = tuple[Tensor | slice, Tensor]
"""Rows, and the tokens that may not follow them: a slice and (X,), or indices that broadcast."""

Constraint = Callable[[Tensor], Forbidden]
"""history_RT -> the forbidden continuations."""


def written(history_RT: Tensor) -> Tensor:
    """The number of tokens in each row, the begin symbol not counted, (R,)."""
    return (history_RT >= 0).sum(1) - 1


class Banned:
    """Never these tokens (padding, the begin symbol, the unknown piece)."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self.tokens = tuple(tokens)
        self._tokens_X = torch.tensor(self.tokens, dtype=torch.long)

    def __call__(self, history_RT: Tensor) -> Forbidden:
        """See ``Constraint``."""
        return slice(None), self._tokens_X.to(history_RT.device)


def at_least(length: int, eos_id: int) -> Constraint:
    """No end symbol before ``length`` tokens."""

    def forbid(history_RT: Tensor) -> Forbidden:
        (rows_X,) = (written(history_RT) < length).nonzero(as_tuple=True)
        return rows_X, torch.full_like(rows_X, eos_id)

    return forbid


def no_repeated_ngram(size: int) -> Constraint:
    """No n-gram of this size twice in a row's output (Paulus et al. 2017, sec. 2.5, n = 3)."""

    def forbid(history_RT: Tensor) -> Forbidden:
        columns = history_RT.shape[1]
        if columns < size:
            nothing = history_RT.new_empty(0)
            return nothing, nothing
        # An n-gram so far that begins like the last n - 1 tokens forbids its end. If there are -1s among
        # these, a whole history follows them, which occurs nowhere else in its row.
        windows_RWN = history_RT.unfold(1, size, 1)
        beginning_R1N = history_RT[:, None, columns - (size - 1) :]
        repeats_RW = (windows_RWN[..., :-1] == beginning_R1N).all(2) & (windows_RWN[..., -1] >= 0)
        rows_X, windows_X = repeats_RW.nonzero(as_tuple=True)
        return rows_X, windows_RWN[rows_X, windows_X, -1]

    return forbid


def forbid_(logits_RV: Tensor, history_RT: Tensor, constraints: Iterable[Constraint]) -> None:
    """Set the forbidden continuations' scores to -infinity, in place."""
    for constraint in constraints:
        rows, tokens = constraint(history_RT)
        if isinstance(rows, slice):
            logits_RV[rows].index_fill_(1, tokens, -torch.inf)
        else:
            logits_RV[rows, tokens] = -torch.inf
