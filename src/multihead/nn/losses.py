"""Losses as sums and counts: the sum comes from the model, the count from the batch.

Counts are known before the forward pass. So every micro-batch and every rank divides by the same global
count, and gradient accumulation and data parallelism are exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a loss.

    Attributes:
        weight: its factor in the objective; 0 makes it a metric.
        sum: a scalar, summed over the batch; carries gradients unless the weight is 0.
        per: the key of ``batch.counts`` that divides it, e.g. "tokens".
    """

    weight: float
    sum: Tensor
    per: str


Loss = Mapping[str, Term]


def objective(loss: Loss, totals: Mapping[str, int | Tensor]) -> Tensor:
    """Return the training objective: the weighted sums, each divided by its total count; a scalar."""
    parts = [term.weight * term.sum / totals[term.per] for term in loss.values() if term.weight]
    return torch.stack(parts).sum()


def smoothed_cross_entropy(
    logits_NV: Tensor, targets_N: Tensor, smoothing: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Cross-entropy against ``(1 - smoothing) * one_hot + smoothing / V`` (Szegedy et al. 2016, sec. 7).

    Returns:
        Three scalars, summed over N: the smoothed loss (with gradients), the negative log-likelihood,
        and the number of correct top-1 predictions, ties included.
    """
    log_p_NV = F.log_softmax(logits_NV.float(), dim=-1)
    nll = -log_p_NV.gather(1, targets_N[:, None]).sum()
    smoothed = (1 - smoothing) * nll - smoothing * log_p_NV.mean(dim=-1).sum()
    logits_NV = logits_NV.detach()
    correct = (logits_NV.gather(1, targets_N[:, None]) >= logits_NV.amax(1, keepdim=True)).sum()
    return smoothed, nll.detach(), correct
