"""Teacher forcing: losses of a decoder that reads the true tokens and predicts the next at every position."""

import torch
from torch import Tensor

from multihead.batch import PairBatch
from multihead.nn import masks
from multihead.nn.kernels.linear_cross_entropy import (
    IGNORED,
    linear_cross_entropy,
    r_drop_cross_entropy,
)
from multihead.nn.losses import Loss, LossTerm
from multihead.nn.parts.uncompiled import exclude_from_compilation


def next_token_loss(
    hidden_BTd: Tensor, weight_Vd: Tensor, batch: PairBatch, smoothing: float, bias_V: Tensor | None = None
) -> Loss:
    """Smoothed cross-entropy per target token; negative log-likelihood and accuracy as metrics.

    Args:
        hidden_BTd: the output layer's input.
        weight_Vd: the output layer's weight.
        batch: the sentence pairs.
        smoothing: epsilon_ls of label smoothing.
        bias_V: the output layer's bias, if it has one.
    """
    hidden_BTd, weight_Vd = _with_bias(hidden_BTd, weight_Vd, bias_V)
    smoothed, nll, correct = _sums(hidden_BTd, weight_Vd, batch, smoothing)
    return _terms(smoothed, nll, correct)


def r_drop_loss(
    hidden_BT2d: Tensor,
    weight_Vd: Tensor,
    batch: PairBatch,
    smoothing: float,
    alpha: float,
    bias_V: Tensor | None = None,
) -> Loss:
    """R-Drop: cross-entropy of two passes under different dropout, plus their KL (Liang et al. 2021, eq. 4).

    (nll_1 + nll_2 + alpha (KL_12 + KL_21) / 2) / 2: a token has the same weight as without R-Drop.

    Args:
        hidden_BT2d: the output layer's input in both passes.
        weight_Vd: the output layer's weight.
        batch: the sentence pairs.
        smoothing: epsilon_ls of label smoothing.
        alpha: weight of the KL divergence.
        bias_V: the output layer's bias, if it has one.
    """
    hidden_BT2d, weight_Vd = _with_bias(hidden_BT2d, weight_Vd, bias_V)
    total, nll, correct, kl = _r_drop_sums(hidden_BT2d, weight_Vd, batch, smoothing, alpha)
    return {**_terms(total / 2, nll / 2, correct / 2), "disagreement": LossTerm(0.0, kl, per="tokens")}


def _terms(loss: Tensor, nll: Tensor, correct: Tensor) -> dict[str, LossTerm]:
    return {
        "loss": LossTerm(1.0, loss, per="tokens"),
        "nll": LossTerm(0.0, nll, per="tokens"),
        "accuracy": LossTerm(0.0, correct, per="tokens"),
    }


def _with_bias(hidden: Tensor, weight_Vd: Tensor, bias_V: Tensor | None) -> tuple[Tensor, Tensor]:
    if bias_V is None:
        return hidden, weight_Vd
    # The kernel takes no bias: x W^T + b is (x, 1) (W, b)^T.
    ones = torch.ones_like(hidden[..., :1])
    return torch.cat([hidden, ones], dim=-1), torch.cat([weight_Vd, bias_V[:, None]], dim=1)


# Not compiled: the number of real tokens is known only at run time, and the kernel is fused already. Padding
# is removed before the output layer, the widest of all.
@exclude_from_compilation
def _sums(
    hidden_BTd: Tensor, weight_Vd: Tensor, batch: PairBatch, smoothing: float
) -> tuple[Tensor, Tensor, Tensor]:
    return linear_cross_entropy(hidden_BTd.flatten(0, 1), weight_Vd, _targets(batch), smoothing)


@exclude_from_compilation
def _r_drop_sums(
    hidden_BT2d: Tensor, weight_Vd: Tensor, batch: PairBatch, smoothing: float, alpha: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return r_drop_cross_entropy(hidden_BT2d.flatten(0, 1), weight_Vd, _targets(batch), smoothing, alpha)


def target_log_probabilities(logits_BTV: Tensor, batch: PairBatch) -> Tensor:
    """Log-probability of each target token, (B, T - 1); 0 at padding."""
    log_p_BT = logits_BTV.float().log_softmax(-1).gather(2, batch.target_out[..., None])[..., 0]
    return torch.where(_real(batch), log_p_BT, 0.0)


def _targets(batch: PairBatch) -> Tensor:
    return batch.target_out.where(_real(batch), IGNORED).flatten()


def _real(batch: PairBatch) -> Tensor:
    return masks.padding(batch.target_lengths_B, batch.target_in.shape[1])[:, 0, 0]
