"""Losses as sums and counts: the sum comes from the model, the count from the batch.

Counts are known before the forward pass. So every micro-batch and every rank divides by the same global
count, and gradient accumulation and data parallelism are exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from multihead.errors import UserError


@dataclass(frozen=True, slots=True)
class LossTerm:
    """One term of a loss.

    Attributes:
        weight: its factor in the objective; 0 makes it a metric.
        sum: a scalar, summed over the batch; carries gradients unless the weight is 0.
        per: the key of ``batch.counts`` that divides it, e.g. "tokens".
    """

    weight: float
    sum: Tensor
    per: str


Loss = Mapping[str, LossTerm]


def objective(loss: Loss, totals: Mapping[str, int | Tensor]) -> Tensor:
    """Return the training objective: the weighted sums, each divided by its total count; a scalar.

    Raises:
        UserError: a model's loss is not of terms, none has a weight, or a term's count is not the batch's.
    """
    _check(loss, totals)
    parts = [term.weight * term.sum / totals[term.per] for term in loss.values() if term.weight]
    return torch.stack(parts).sum()


def validation_terms(loss: Loss, *names: str) -> Loss:
    """Return the terms that validation reads, whatever their weights.

    Raises:
        UserError: the model's loss has no term of one of these names.
    """
    if missing := [name for name in names if name not in loss]:
        raise UserError(
            f'validation needs the loss\'s term "{missing[0]}", and the model returns {_name(loss)}',
            place="Model.loss",
            remedy=f'Return it as a metric: "{missing[0]}": Term(0.0, its sum over the batch, per="tokens").',
        )
    return {name: loss[name] for name in names}


def _check(loss: Loss, totals: Mapping[str, int | Tensor]) -> None:
    terms = loss if isinstance(loss, Mapping) else {}  # a model may be anybody's
    if not any(isinstance(term, LossTerm) and term.weight for term in terms.values()):
        description = _name(loss) if isinstance(loss, Mapping) else f"a {type(loss).__name__}"
        raise UserError(
            f"a loss is a dictionary of terms of which one has a weight, and the model returns {description}",
            place="Model.loss",
            remedy='Return {"loss": Term(1.0, its sum over the batch, per="tokens")}, '
            "see docs/how-to/extending.md.",
        )
    for name, term in terms.items():
        if term.weight and term.per not in totals:
            raise UserError(
                f'the term "{name}" is divided by "{term.per}", which its batch does not count',
                place="Model.loss",
                remedy=f"Its batch counts {', '.join(totals)}.",
            )


def _name(loss: Mapping[str, object]) -> str:
    return ", ".join(f'"{name}"' for name in loss) or "none"


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
