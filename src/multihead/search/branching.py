"""What may follow each row: the part of a step that all searches share."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, inf

from multihead.search.constraints import Constraint, forbid_
from multihead.search.distribution import largest, log_normaliser
from multihead.search.live import Live

IMPOSSIBLE = -1e4
"""Least score of an end where there must be one: finite, as -infinity marks unused rows."""


@dataclass(frozen=True, slots=True)
class Continuations:
    """Scores of every row's next token.

    Attributes:
        logits: (R, V), -infinity where a token is not allowed.
        normaliser: (R,); ``logits - normaliser`` are the model's log-probabilities.
        cut: (R,), True where the end symbol would not be the model's wish.
    """

    logits: Tensor
    normaliser: Tensor
    cut: Tensor


def continuations(
    live: Live, logits_RV: Tensor, constraints: Sequence[Constraint], eos_id: int, step: int
) -> Continuations:
    """Apply constraints and limits. Search owns the scores it was given, and writes into them."""
    logits_RV = logits_RV.float()
    normaliser_R = log_normaliser(logits_RV, step)
    end_R = logits_RV[:, eos_id].clone()
    forbid_(logits_RV, live.history, constraints)
    cut_R = torch.zeros_like(end_R, dtype=torch.bool)
    at_limit = live.may_be_at_limit(step)
    if constraints or at_limit:
        best_R = largest(logits_RV, 1)[0][:, 0]
        must_end_R = best_R == -inf
        if at_limit:
            must_end_R |= live.at_limit.repeat_interleave(live.sums.shape[1])
        if bool(must_end_R.any()):
            cut_R = must_end_R & ((logits_RV[:, eos_id] < best_R) | (best_R == -inf))
            (ending,) = must_end_R.nonzero(as_tuple=True)
            logits_RV[ending] = -inf
            logits_RV[ending, eos_id] = end_R[ending].clamp(min=IMPOSSIBLE)
    return Continuations(logits_RV, normaliser_R, cut_R)
