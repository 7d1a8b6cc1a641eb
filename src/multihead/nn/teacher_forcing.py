"""Teacher forcing: a decoder reads the right tokens and is asked for the next one at every position."""

import torch
from torch import Tensor

from multihead.batch import PairBatch
from multihead.nn import masks
from multihead.nn.kernels.linear_cross_entropy import linear_cross_entropy
from multihead.nn.losses import Loss, Term
from multihead.nn.uncompiled import uncompiled


def next_token_loss(
    hidden_BTd: Tensor, weight_Vd: Tensor, batch: PairBatch, smoothing: float, bias_V: Tensor | None = None
) -> Loss:
    """Smoothed cross-entropy a target token; negative log-likelihood and accuracy as metrics.

    Args:
        hidden_BTd: what the output layer reads.
        weight_Vd: the output layer.
        batch: the pairs.
        smoothing: epsilon_ls of label smoothing.
        bias_V: the output layer's, if it has one.
    """
    if bias_V is not None:
        # The kernel knows none: x W^T + b is (x, 1) (W, b)^T.
        hidden_BTd = torch.cat([hidden_BTd, torch.ones_like(hidden_BTd[..., :1])], dim=-1)
        weight_Vd = torch.cat([weight_Vd, bias_V[:, None]], dim=1)
    smoothed, nll, correct = _sums(hidden_BTd, weight_Vd, batch, smoothing)
    return {
        "loss": Term(1.0, smoothed, per="tokens"),
        "nll": Term(0.0, nll, per="tokens"),
        "accuracy": Term(0.0, correct, per="tokens"),
    }


# Not compiled: how many tokens are real is known at run time only, and the kernel is one already.
@uncompiled
def _sums(
    hidden_BTd: Tensor, weight_Vd: Tensor, batch: PairBatch, smoothing: float
) -> tuple[Tensor, Tensor, Tensor]:
    real_BT = _real(batch)
    # Padding is taken out before the output layer, the widest of all.
    return linear_cross_entropy(hidden_BTd[real_BT], weight_Vd, batch.target_out[real_BT], smoothing)


def target_log_probabilities(logits_BTV: Tensor, batch: PairBatch) -> Tensor:
    """Log-probability of each target token, (B, T); 0 where there is padding."""
    log_p_BT = logits_BTV.float().log_softmax(-1).gather(2, batch.target_out[..., None])[..., 0]
    return torch.where(_real(batch), log_p_BT, 0.0)


def _real(batch: PairBatch) -> Tensor:
    return masks.padding(batch.target_lengths_B, batch.target_in.shape[1])[:, 0, 0]
