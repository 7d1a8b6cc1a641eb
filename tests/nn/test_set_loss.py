"""The set loss of DETR: matching against brute force, invariance, images without objects, gradients."""

from itertools import permutations

import pytest
import torch
from torch import Tensor

pytest.importorskip("scipy", reason="the extra [detect] is not installed")

from multihead.nn.parts.boxes import edges, overlaps
from multihead.nn.parts.matching import match
from multihead.nn.parts.set_loss import SetLoss, pair_costs, set_loss

L, B, Q, K, M = 2, 3, 5, 7, 4
COSTS = (1.0, 5.0, 2.0)


def made_up() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    logits = torch.randn(L, B, Q, K + 1, dtype=torch.float64)
    predicted = torch.rand(L, B, Q, 4, dtype=torch.float64) * 0.4 + 0.3
    boxes = torch.rand(B, M, 4, dtype=torch.float64) * 0.4 + 0.3
    classes = torch.randint(0, K, (B, M))
    classes[0, 2:] = -1
    classes[1] = -1  # an image without objects
    return logits, predicted, boxes, classes


def total(found: SetLoss) -> Tensor:
    return found.classes + 5 * found.boxes + 2 * found.ious


def loss_of(logits: Tensor, predicted: Tensor, boxes: Tensor, classes: Tensor) -> Tensor:
    return total(set_loss(logits, predicted, boxes, classes, costs=COSTS, no_object=0.1))


def test_matching_is_the_cheapest_of_all_assignments() -> None:
    costs = torch.randn(11, Q, M)
    present = torch.rand(11, M) < 0.8
    found = match(costs, present)
    for cost, there, own in zip(costs, present, found, strict=True):
        objects = there.nonzero()[:, 0].tolist()
        chosen = [int(own[place]) for place in objects]
        assert len(set(chosen)) == len(chosen)
        ways = permutations(range(Q), len(objects))
        best = min(sum(cost[q, m].item() for q, m in zip(way, objects, strict=True)) for way in ways)
        assert sum(cost[q, m].item() for q, m in zip(chosen, objects, strict=True)) == pytest.approx(best)


def test_more_objects_than_predictions_are_refused() -> None:
    with pytest.raises(ValueError, match="5 objects, but only 3 predictions"):
        match(torch.zeros(2, 3, 5), torch.ones(2, 5, dtype=torch.bool))


def test_a_cost_that_is_not_finite_does_not_stop_the_matching() -> None:
    costs = torch.full((1, 3, 2), torch.nan)
    assert len(set(match(costs, torch.ones(1, 2, dtype=torch.bool))[0].tolist())) == 2


@pytest.mark.parametrize("iou_targets", [False, True])
def test_the_loss_is_that_of_the_definition(iou_targets: bool) -> None:
    logits, predicted, boxes, classes = made_up()
    found = set_loss(logits, predicted, boxes, classes, costs=COSTS, no_object=0.1, iou_targets=iou_targets)
    expected = torch.zeros(3, dtype=torch.float64)
    for layer in range(L):
        for image in range(B):
            objects = (classes[image] >= 0).nonzero()[:, 0].tolist()
            log_p = logits[layer, image].log_softmax(-1)
            best: tuple[float, tuple[int, ...]] = (float("inf"), ())
            for way in permutations(range(Q), len(objects)):
                cost = 0.0
                for q, m in zip(way, objects, strict=True):
                    own, true = predicted[layer, image, q], boxes[image, m]
                    _, giou = overlaps(edges(own), edges(true))
                    p = log_p[q, classes[image, m]].exp()
                    cost += (-p + 5 * (own - true).abs().sum() - 2 * giou).item()
                best = min(best, (cost, way))
            matched = dict(zip(best[1], objects, strict=True))
            for q in range(Q):
                if q not in matched:
                    expected[0] -= 0.1 * log_p[q, -1]
                    continue
                own, true = predicted[layer, image, q], boxes[image, matched[q]]
                iou, giou = overlaps(edges(own), edges(true))
                taught = iou if iou_targets else 1.0
                expected[0] -= taught * log_p[q, classes[image, matched[q]]] + (1 - taught) * log_p[q, -1]
                expected[1] += (own - true).abs().sum()
                expected[2] += 1 - giou
    own = torch.stack([found.classes, found.boxes, found.ious])
    torch.testing.assert_close(own, expected)


def test_another_matching_compares_other_pairs() -> None:
    logits, predicted, boxes, classes = made_up()
    found = set_loss(
        logits,
        predicted,
        boxes,
        classes,
        costs=COSTS,
        no_object=0.1,
        matching=lambda costs, present: torch.arange(M).expand(present.shape),
    )
    distances = (predicted[:, :, :M] - boxes).abs().sum(-1)
    torch.testing.assert_close(found.boxes, distances[:, classes >= 0].sum())


def test_scores_do_not_teach_the_boxes_that_they_are_taught_by() -> None:
    logits, predicted, boxes, classes = made_up()
    predicted.requires_grad_()
    found = set_loss(logits, predicted, boxes, classes, costs=COSTS, no_object=0.1, iou_targets=True)
    assert found.classes.requires_grad is False
    assert found.ious.requires_grad is True


def test_the_order_of_queries_and_of_objects_does_not_matter() -> None:
    logits, predicted, boxes, classes = made_up()
    plain = loss_of(logits, predicted, boxes, classes)
    turned, order = torch.tensor([3, 0, 4, 1, 2]), torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(loss_of(logits[:, :, turned], predicted[:, :, turned], boxes, classes), plain)
    torch.testing.assert_close(loss_of(logits, predicted, boxes[:, order], classes[:, order]), plain)


def test_images_without_objects_have_a_loss_and_a_gradient() -> None:
    logits, predicted, boxes, classes = made_up()
    logits.requires_grad_()
    found = set_loss(logits, predicted, boxes, torch.full_like(classes, -1), costs=COSTS, no_object=0.1)
    assert found.boxes == 0
    assert found.ious == 0
    expected = -0.1 * logits.log_softmax(-1)[..., -1].sum()
    torch.testing.assert_close(found.classes, expected)
    total(found).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_perfect_predictions_are_found_and_cost_nothing() -> None:
    _, _, boxes, classes = made_up()
    logits = torch.full((1, B, Q, K + 1), -30.0)
    logits[..., -1] = 30.0
    predicted = torch.rand(1, B, Q, 4)
    for image, place in (classes >= 0).nonzero().tolist():
        query = (place + 2) % Q
        predicted[0, image, query] = boxes[image, place].float()
        logits[0, image, query, -1] = -30.0
        logits[0, image, query, classes[image, place]] = 30.0
    found = set_loss(logits, predicted, boxes.float(), classes, costs=COSTS, no_object=0.1)
    assert total(found) < 1e-4
    assert found.found == (classes >= 0).sum()


def test_gradients_are_those_of_finite_differences() -> None:
    logits, predicted, boxes, classes = made_up()
    given = logits.requires_grad_(), predicted.requires_grad_()
    assert torch.autograd.gradcheck(lambda one, other: loss_of(one, other, boxes, classes), given)


def test_costs_compare_every_prediction_with_every_object() -> None:
    logits, predicted, boxes, classes = made_up()
    costs = pair_costs(logits[0], predicted[0], boxes, classes, COSTS)
    assert costs.shape == (B, Q, M)
    q, m = 3, 1
    _, giou = overlaps(edges(predicted[0, 2, q]), edges(boxes[2, m]))
    p = logits[0, 2, q].softmax(-1)[classes[2, m]]
    expected = -p + 5 * (predicted[0, 2, q] - boxes[2, m]).abs().sum() - 2 * giou
    assert costs[2, q, m].item() == pytest.approx(expected.item(), rel=1e-5)
