"""The set prediction loss of DETR (Carion et al. 2020, sec. 3.1)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from multihead.nn.parts.boxes import edges, overlaps
from multihead.nn.parts.matching import match


@dataclass(frozen=True, slots=True)
class SetLoss:
    """The three terms of the loss, each summed over objects, images and layers, and the objects found.

    Attributes:
        classes: cross-entropy, with the weight of "no object" for unmatched predictions.
        boxes: L1 distance of matched boxes.
        ious: 1 - generalised IoU of matched boxes.
        found: matched predictions of the last layer with the right class and an IoU of at least 0.5.
    """

    classes: Tensor
    boxes: Tensor
    ious: Tensor
    found: Tensor


def pair_costs(
    logits_BQK: Tensor,
    predicted_BQ4: Tensor,
    boxes_BM4: Tensor,
    classes_BM: Tensor,
    weights: tuple[float, float, float],
) -> Tensor:
    """The weighted cost of each prediction for each object: -p(class), L1, -generalised IoU; (B, Q, M)."""
    p_BQK = _wide(logits_BQK).softmax(-1)
    index_BQM = classes_BM.clamp(min=0)[:, None].expand(-1, p_BQK.shape[1], -1)
    distance = (predicted_BQ4[:, :, None] - boxes_BM4[:, None]).abs().sum(-1)
    _, giou = overlaps(edges(predicted_BQ4)[:, :, None], edges(boxes_BM4)[:, None])
    of_class, of_box, of_iou = weights
    return -of_class * p_BQK.gather(2, index_BQM) + of_box * distance - of_iou * giou


def set_loss(
    logits_LBQK: Tensor,
    predicted_LBQ4: Tensor,
    boxes_BM4: Tensor,
    classes_BM: Tensor,
    *,
    costs: tuple[float, float, float],
    no_object: float,
    iou_targets: bool = False,
    matching: Callable[[Tensor, Tensor], Tensor] = match,
) -> SetLoss:
    """Match the predictions of each layer to the objects, and compare them (eq. 1 and 2).

    Args:
        logits_LBQK: L layers' logits of the classes, the last one "no object"; the last layer is the output,
            the others give the auxiliary losses.
        predicted_LBQ4: predicted centres and sizes, from 0 to 1.
        boxes_BM4: the objects' centres and sizes.
        classes_BM: their classes, -1 for padding.
        costs: weights of class, L1 and IoU in the matching.
        no_object: weight of the cross-entropy of unmatched predictions (the paper: 0.1).
        iou_targets: the class of a matched prediction is taught with its box's IoU as probability, the rest
            is "no object": scores rank detections by their boxes too (VarifocalNet, Zhang et al. 2021; there
            with sigmoids).
        matching: the assignment of objects to predictions; see ``match``.
    """
    L, B, Q, _ = logits_LBQK.shape
    logits, predicted = _wide(logits_LBQK.flatten(0, 1)), _wide(predicted_LBQ4.flatten(0, 1))
    boxes, classes = boxes_BM4.repeat(L, 1, 1), classes_BM.repeat(L, 1)
    present = classes >= 0
    with torch.no_grad():
        matched = matching(pair_costs(logits, predicted, boxes, classes, costs), present)
    rows, columns = present.nonzero(as_tuple=True)
    queries, true_classes = matched[rows, columns], classes[rows, columns]
    predictions, true = predicted[rows, queries], boxes[rows, columns]
    iou, giou = overlaps(edges(predictions), edges(true))
    share = iou.detach() if iou_targets else torch.ones_like(iou)
    targets = torch.zeros_like(logits)
    targets[..., -1] = 1
    targets[rows, queries, -1] = 1 - share
    targets[rows, queries, true_classes] = share
    weights = logits.new_full((L * B, Q), no_object)
    weights[rows, queries] = 1
    class_loss = -(weights * (targets * logits.log_softmax(-1)).sum(-1)).sum()
    right = (logits[rows, queries].argmax(-1) == true_classes) & (iou >= 0.5) & (rows >= (L - 1) * B)
    return SetLoss(class_loss, (predictions - true).abs().sum(), (1 - giou).sum(), right.sum())


def _wide(x: Tensor) -> Tensor:
    """The tensor in float32, or in float64 if it is that."""
    return x if x.dtype == torch.float64 else x.float()
