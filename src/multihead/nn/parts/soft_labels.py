"""Soft-label loss of a classifier whose examples may be mixtures of two (Zhang et al. 2018, "mixup")."""

import torch.nn.functional as F
from torch import Tensor

from multihead.batch import ImageBatch
from multihead.nn.losses import Loss, LossTerm


def soft_label_loss(logits_BK: Tensor, batch: ImageBatch, smoothing: float) -> Loss:
    """Smoothed cross-entropy against share * one_hot(label) + (1 - share) * one_hot(other label).

    The metrics are the unsmoothed negative log-likelihood, and accuracy on the label with the larger share.

    Args:
        logits_BK: one per class.
        batch: the labels, and their shares.
        smoothing: epsilon of label smoothing.
    """
    log_p_BK = F.log_softmax(logits_BK.float(), dim=-1)
    label_log_p_B2 = log_p_BK.gather(1, batch.labels_B2)
    mixed = -(label_log_p_B2 * batch.shares_B2).sum()
    smoothed = (1 - smoothing) * mixed - smoothing * log_p_BK.mean(dim=-1).sum()
    main_B = batch.labels_B2.gather(1, batch.shares_B2.argmax(dim=1, keepdim=True))[:, 0]
    correct = (logits_BK.detach().argmax(dim=-1) == main_B).sum()
    return {
        "loss": LossTerm(1.0, smoothed, per="images"),
        "nll": LossTerm(0.0, mixed.detach(), per="images"),
        "accuracy": LossTerm(0.0, correct, per="images"),
    }
