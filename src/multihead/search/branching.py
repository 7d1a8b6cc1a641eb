"""Scores of each hypothesis's next token under constraints and length limits; shared by all searches."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, inf

from multihead.search.constraints import Constraint, forbid_
from multihead.search.distribution import largest, log_normaliser
from multihead.search.hypotheses import Live

IMPOSSIBLE = -1e4
"""Smallest score of a forced end symbol: finite, because -infinity marks unused rows."""


@dataclass(frozen=True, slots=True)
class Continuations:
    """Scores of every row's next token.

    Attributes:
        logits: (R, V), -infinity where a token is not allowed.
        normaliser: (R,); ``logits - normaliser`` are the model's log-probabilities.
        values: (R, K), the top-k logits of each row, descending.
        tokens: (R, K), their token ids.
        cut: (R,), True where the end symbol is forced although the model prefers another token.
    """

    logits: Tensor
    normaliser: Tensor
    values: Tensor
    tokens: Tensor
    cut: Tensor


def continuations(
    live: Live, logits_RV: Tensor, constraints: Sequence[Constraint], eos_id: int, step: int, most: int
) -> Continuations:
    """Apply constraints and length limits to the scores, in place: search owns them.

    Args:
        live: the live hypotheses.
        logits_RV: their scores.
        constraints: name the forbidden continuations.
        eos_id: the end symbol.
        step: the number of this step, from 0.
        most: k of the top-k tokens of each row.
    """
    logits_RV = logits_RV.float()
    normaliser_R = log_normaliser(logits_RV, step)
    end_R = logits_RV[:, eos_id].clone()
    forbid_(logits_RV, live.history, constraints)
    values_RK, tokens_RK = largest(logits_RV, most)
    must_end_R = values_RK[:, 0] == -inf
    if live.may_be_at_limit(step):
        must_end_R |= live.at_limit.repeat_interleave(live.sums.shape[1])
    cut_R = torch.zeros_like(must_end_R)
    if bool(must_end_R.any()):
        best_R = values_RK[:, 0].clone()
        cut_R = must_end_R & ((logits_RV[:, eos_id] < best_R) | (best_R == -inf))
        (ending,) = must_end_R.nonzero(as_tuple=True)
        for scores in (logits_RV, values_RK):
            scores[ending] = -inf
        tokens_RK[ending, 0] = eos_id
        logits_RV[ending, eos_id] = values_RK[ending, 0] = end_R[ending].clamp(min=IMPOSSIBLE)
    return Continuations(logits_RV, normaliser_R, values_RK, tokens_RK, cut_R)
