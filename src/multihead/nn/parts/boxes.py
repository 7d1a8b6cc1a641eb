"""Boxes: forms, intersection over union, and its generalisation (Rezatofighi et al. 2019).

A box is (centre x, centre y, width, height), or its edges (left, top, right, bottom). Suffix 4: a box.
"""

import torch
from torch import Tensor


def edges(boxes_N4: Tensor) -> Tensor:
    """Convert centres and sizes to edges; (..., 4) to the same."""
    centre, size = boxes_N4[..., :2], boxes_N4[..., 2:]
    return torch.cat([centre - size / 2, centre + size / 2], dim=-1)


def overlaps(one_N4: Tensor, other_N4: Tensor) -> tuple[Tensor, Tensor]:
    """Intersection over union, and the generalised one, of boxes given by their edges.

    Args:
        one_N4: boxes, (..., 4).
        other_N4: boxes, broadcastable to the same shape.

    Returns:
        IoU, from 0 to 1, and IoU - |C without the union| / |C|, from -1 to 1, where C is the smallest box
        around both (Rezatofighi et al. 2019, algorithm 1); both (...).
    """
    low, high = torch.maximum(one_N4[..., :2], other_N4[..., :2]), one_N4[..., 2:].minimum(other_N4[..., 2:])
    common = (high - low).clamp(min=0).prod(dim=-1)
    union = _area(one_N4) + _area(other_N4) - common
    low, high = torch.minimum(one_N4[..., :2], other_N4[..., :2]), one_N4[..., 2:].maximum(other_N4[..., 2:])
    around = (high - low).clamp(min=0).prod(dim=-1)
    tiny = torch.finfo(union.dtype).tiny
    iou = common / union.clamp(min=tiny)
    return iou, iou - (around - union) / around.clamp(min=tiny)


def _area(edges_N4: Tensor) -> Tensor:
    return (edges_N4[..., 2:] - edges_N4[..., :2]).clamp(min=0).prod(dim=-1)
