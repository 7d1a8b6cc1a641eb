"""The loss of a classifier whose examples may be mixtures of two (Zhang et al. 2018, "mixup")."""

import torch.nn.functional as F
from torch import Tensor

from multihead.batch import PictureBatch
from multihead.nn.losses import Loss, Term


def soft_label_loss(logits_BK: Tensor, batch: PictureBatch, smoothing: float) -> Loss:
    """Smoothed cross-entropy against share * one_hot(label) + (1 - share) * one_hot(other label).

    Negative log-likelihood without smoothing and accuracy for the label of the larger share are metrics.

    Args:
        logits_BK: one for each class.
        batch: the labels, and their shares.
        smoothing: epsilon of label smoothing.
    """
    log_p_BK = F.log_softmax(logits_BK.float(), dim=-1)
    said_B2 = log_p_BK.gather(1, batch.labels_B2)
    mixed = -(said_B2 * batch.shares_B2).sum()
    smoothed = (1 - smoothing) * mixed - smoothing * log_p_BK.mean(dim=-1).sum()
    main_B = batch.labels_B2.gather(1, batch.shares_B2.argmax(dim=1, keepdim=True))[:, 0]
    correct = (logits_BK.detach().argmax(dim=-1) == main_B).sum()
    return {
        "loss": Term(1.0, smoothed, per="pictures"),
        "nll": Term(0.0, mixed.detach(), per="pictures"),
        "accuracy": Term(0.0, correct, per="pictures"),
    }
