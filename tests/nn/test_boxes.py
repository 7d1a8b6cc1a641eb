"""Boxes: forms, and overlaps by hand and by counting pixels."""

import pytest
import torch

from multihead.nn.parts.boxes import edges, overlaps


def test_edges_by_hand() -> None:
    assert edges(torch.tensor([5.0, 7.0, 4.0, 6.0])).tolist() == [3, 4, 7, 10]


def test_overlaps_by_hand() -> None:
    one = torch.tensor([[0.0, 0, 4, 4], [0, 0, 2, 2], [1, 1, 3, 3]])
    other = torch.tensor([[2.0, 0, 6, 4], [6, 6, 8, 8], [1, 1, 3, 3]])
    iou, giou = overlaps(one, other)
    assert iou.tolist() == pytest.approx([8 / 24, 0, 1])
    assert giou.tolist() == pytest.approx([8 / 24, -56 / 64, 1])


def test_overlaps_are_those_of_counted_pixels() -> None:
    generator = torch.Generator().manual_seed(3)
    low = torch.randint(0, 11, (13, 2, 2), generator=generator)
    boxes = torch.cat([low, low + torch.randint(1, 9, (13, 2, 2), generator=generator)], dim=-1)
    for one, other in boxes.tolist():
        cells = [
            {(x, y) for x in range(box[0], box[2]) for y in range(box[1], box[3])} for box in (one, other)
        ]
        union = len(cells[0] | cells[1])
        expected = len(cells[0] & cells[1]) / union
        around = (max(one[2], other[2]) - min(one[0], other[0])) * (
            max(one[3], other[3]) - min(one[1], other[1])
        )
        iou, giou = overlaps(torch.tensor(one).float(), torch.tensor(other).float())
        assert iou.item() == pytest.approx(expected)
        assert giou.item() == pytest.approx(expected - (around - union) / around)


def test_a_box_without_area_has_finite_overlaps_and_gradients() -> None:
    point = torch.tensor([[3.0, 3, 3, 3]], requires_grad=True)
    iou, giou = overlaps(point, point.detach())
    (iou + giou).sum().backward()  # type: ignore[no-untyped-call]
    assert point.grad is not None
    assert torch.isfinite(point.grad).all()
    assert torch.isfinite(giou).all()
