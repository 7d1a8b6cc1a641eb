"""DETR and the convolutional detector: shapes, learning, and the properties of a set."""

from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("scipy", reason="the extra [detect] is not installed")

from multihead.batch import SceneBatch
from multihead.models import conv_detector, detr
from multihead.nn.parts.boxes import edges
from multihead.nn.parts.set_loss import set_loss
from multihead.tasks.detection.objects import GeneratedScenes
from multihead.tasks.detection.scene_batches import SceneBatches
from multihead.tasks.detection.scenes import SceneMaker, ShapeStencils

SIZES: dict[str, Any] = {
    "image_size": 32,
    "classes": 3,
    "stem_width": 4,
    "d_model": 24,
    "d_ff": 31,
    "num_heads": 3,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "queries": 5,
    "dropout": 0.0,
}
B = 2


def detector(**changed: Any) -> detr.DETR:
    torch.manual_seed(5)
    return detr.Model(detr.Settings.model_validate({**SIZES, **changed})).eval()


def batch() -> SceneBatch:
    boxes = torch.tensor(
        [[[0.3, 0.4, 0.2, 0.3], [0.7, 0.6, 0.4, 0.2]], [[0.5, 0.5, 0.5, 0.5], [0.0, 0, 0, 0]]]
    )
    return SceneBatch(torch.rand(B, 3, 32, 32), boxes, torch.tensor([[1, 2], [0, -1]]), 3)


@pytest.mark.parametrize("anchors", [False, True])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_every_decoder_layer_predicts_a_set(anchors: bool, norm: str) -> None:
    model = detector(anchors=anchors, norm=norm)
    logits, boxes = model(torch.rand(B, 3, 32, 32))
    assert logits.shape == (2, B, 5, 4)
    assert boxes.shape == (2, B, 5, 4)
    assert (boxes > 0).all()
    assert (boxes < 1).all()
    found, scores, classes = model.detect(torch.rand(B, 3, 32, 32))
    assert found.shape == (B, 5, 4)
    assert (found[..., 2:] >= found[..., :2]).all()
    assert scores.shape == classes.shape == (B, 5)
    assert (classes < 3).all()


def test_images_are_independent_of_each_other() -> None:
    model, pixels = detector(anchors=True), torch.rand(3, 3, 32, 32)
    together, alone = model(pixels)[1], model(pixels[1:2])[1]
    torch.testing.assert_close(together[:, 1:2], alone, rtol=1e-4, atol=1e-5)


def test_the_order_of_the_queries_orders_the_outputs() -> None:
    model, pixels = detector(), torch.rand(B, 3, 32, 32)
    before = model(pixels)
    order = torch.tensor([3, 1, 4, 0, 2])
    with torch.no_grad():
        model.query_positions.weight.copy_(model.query_positions.weight[order])  # type: ignore[operator, index]
    after = model(pixels)
    for one, other in zip(before, after, strict=True):
        torch.testing.assert_close(one[:, :, order], other, rtol=1e-4, atol=1e-5)


def test_a_larger_image_has_a_larger_feature_map() -> None:
    memory, grid = detector().encode(torch.rand(B, 3, 48, 32))
    assert memory.shape == (B, 24, 24)
    assert grid.shape == (24, 2)
    assert grid[0].tolist() == pytest.approx([1 / 8, 1 / 12])  # x goes first
    assert grid[1].tolist() == pytest.approx([3 / 8, 1 / 12])


def test_without_auxiliary_losses_only_the_last_layer_is_compared() -> None:
    given = batch()
    full, last = (detector(auxiliary=auxiliary).loss(given, 0) for auxiliary in (True, False))
    logits, boxes = detector()(given.pixels_BChw)
    alone = set_loss(
        logits[1:], boxes[1:], given.boxes_BM4, given.classes_BM, costs=(1.0, 5.0, 2.0), no_object=0.1
    )
    torch.testing.assert_close(last["box_loss"].sum, alone.boxes)
    assert last["box_loss"].sum < full["box_loss"].sum


@pytest.mark.parametrize("anchors", [False, True])
def test_groups_of_queries_do_not_see_each_other(anchors: bool) -> None:
    model, pixels = detector(anchors=anchors, query_groups=3), torch.rand(B, 3, 32, 32)
    alone, together = model(pixels), model(pixels, 3)
    for one, all_groups in zip(alone, together, strict=True):
        assert all_groups.shape[2] == 15
        torch.testing.assert_close(all_groups[:, :, :5], one, rtol=1e-4, atol=1e-5)
    assert model.detect(pixels)[1].shape == (B, 5)


@pytest.mark.parametrize("anchors", [False, True])
def test_the_loss_of_groups_is_the_mean_of_theirs(anchors: bool) -> None:
    model, given = detector(anchors=anchors, query_groups=3), batch()
    model.eval()
    model.training = True  # batch norm goes on as in evaluation
    terms = model.loss(given, 0)
    model.training = False
    losses = []
    with torch.no_grad():
        for _ in range(3):
            losses.append({name: float(term.sum.detach()) for name, term in model.loss(given, 0).items()})
            model.query_positions.weight.copy_(model.query_positions.weight.roll(-5, 0))  # type: ignore[operator]
    for name, term in terms.items():
        assert float(term.sum.detach()) == pytest.approx(sum(one[name] for one in losses) / 3, rel=1e-4), name
    assert losses[0] != losses[1]


def test_the_best_guesses_become_the_queries() -> None:
    model, pixels = detector(anchors=True, proposals=True), torch.rand(B, 3, 32, 32)
    with torch.no_grad():
        memory, grid = model.encode(pixels)
        start = model.query_positions.start(memory, grid, 5)
    guesses = start.guesses
    assert guesses is not None
    assert guesses.logits_BPK.shape == (B, 16, 4)
    scores = guesses.logits_BPK.softmax(-1)[..., :3].amax(-1)
    for image in range(B):
        best = scores[image].argsort(descending=True)[:5]
        boxes = start.references_BQ4[image].sigmoid()
        torch.testing.assert_close(boxes, guesses.boxes_BP4[image, best], rtol=1e-4, atol=1e-5)
        assert torch.equal(start.contents_BQd[image], memory[image, best])


def test_an_image_of_fewer_places_than_queries_has_fewer_queries() -> None:
    model = detector(anchors=True, proposals=True)
    _, scores, _ = model.eval().detect(torch.rand(B, 3, 8, 16))
    assert scores.shape == (B, 2)


@pytest.mark.parametrize("proposals", [False, True])
def test_a_detector_of_other_classes_begins_with_all_but_the_class_heads(proposals: bool) -> None:
    changed: dict[str, Any] = {"anchors": True, "proposals": proposals}
    trained, other = detector(**changed).state_dict(), detector(**changed, classes=7)
    other.load_state_dict({**other.state_dict(), **other.taken_from(trained)})
    kept = set(trained) - set(other.taken_from(trained))
    assert kept == {name for name in trained if "class_head" in name}
    assert detector(**changed).taken_from(trained).keys() == trained.keys()


def test_a_guess_lies_where_its_place_is() -> None:
    model = detector(anchors=True, proposals=True)
    queries: Any = model.query_positions
    torch.nn.init.zeros_(queries.box_head[-1].weight)
    torch.nn.init.zeros_(queries.box_head[-1].bias)
    with torch.no_grad():
        memory, grid = model.encode(torch.rand(B, 3, 48, 32))
        boxes = queries.start(memory, grid, 5).guesses.boxes_BP4
    torch.testing.assert_close(boxes[0, :, :2], grid)
    assert torch.equal(boxes[0], boxes[1])


def test_the_loss_of_guesses_is_added() -> None:
    model, given = detector(anchors=True, proposals=True), batch()
    with torch.no_grad():
        logits, boxes, guesses = model.decode(*model.encode(given.pixels_BChw))
        assert guesses is not None
        parts = [
            set_loss(*outputs, given.boxes_BM4, given.classes_BM, costs=(1.0, 5.0, 2.0), no_object=0.1)
            for outputs in ((logits, boxes), (guesses.logits_BPK[None], guesses.boxes_BP4[None]))
        ]
        found = model.loss(given, 0)
    assert float(found["box_loss"].sum) == pytest.approx(sum(float(part.boxes) for part in parts), rel=1e-5)
    assert float(found["loss"].sum) == pytest.approx(sum(float(part.classes) for part in parts), rel=1e-5)
    assert found["found"].sum == parts[0].found


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"proposals": True}, "set anchors = true"),
        ({"proposals": True, "anchors": True, "query_groups": 3}, "set query_groups = 1"),
    ],
)
def test_proposals_that_contradict_other_settings_are_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        detector(**changed)


@pytest.mark.parametrize("kind", ["learned", "anchors", "proposals", "convolutional"])
def test_a_small_model_learns_a_few_scenes_by_heart(kind: str) -> None:
    scenes = GeneratedScenes(SceneMaker(ShapeStencils(("circle", "square", "cross")), 32, 2, 1), 4)
    given = SceneBatches(scenes).batch(np.arange(4), 0)
    torch.manual_seed(1)
    if kind == "convolutional":
        small = {"image_size": 32, "classes": 3, "stem_width": 8, "width": 16, "blocks": 1}
        model: Any = conv_detector.Model(conv_detector.Settings.model_validate(small))
    else:
        more = {"anchors": kind != "learned", "norm": "pre", "stem_width": 8}
        more["proposals"] = kind == "proposals"
        model = detr.Model(detr.Settings.model_validate({**SIZES, **more}))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(50):
        terms = model.loss(given, step)
        loss = sum(term.weight * term.sum for term in terms.values() if term.weight) / given.objects
        losses.append(float(loss.detach()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < 0.6 * losses[0], losses


def conv(classes: int = 3) -> conv_detector.ConvDetector:
    small = {"image_size": 32, "classes": classes, "stem_width": 4, "width": 8, "blocks": 1}
    torch.manual_seed(3)
    return conv_detector.Model(conv_detector.Settings.model_validate(small)).eval()


def test_a_centre_on_the_heat_map_becomes_its_box() -> None:
    model, given = conv(), batch()
    heat = conv_detector.heat_maps(given, 3, 8, 8)
    assert (heat == 1).sum() == 3
    logits = torch.logit(heat.clamp(0.01, 0.99))
    sides = torch.zeros(B, 4, 8, 8)
    box = edges(given.boxes_BM4) * 8
    for image, place in ((0, 0), (0, 1), (1, 0)):
        x, y = ((box[image, place, :2] + box[image, place, 2:]) / 2).long().tolist()
        left, top, right, bottom = box[image, place].tolist()
        middle = torch.tensor([x + 0.5 - left, y + 0.5 - top, right - x - 0.5, bottom - y - 0.5])
        sides[image, :, y, x] = middle
    model.forward = lambda _: (logits, sides)  # type: ignore[method-assign, assignment]
    found, scores, classes = model.detect(given.pixels_BChw)
    assert (scores > 0.9).sum() == 3
    assert set(classes[0, :2].tolist()) == {1, 2}
    for place, kind in ((0, 1), (1, 2)):
        own = found[0, classes[0, :2].tolist().index(kind)]
        torch.testing.assert_close(own, edges(given.boxes_BM4[0, place]), rtol=1e-4, atol=1e-5)


def test_a_convolutional_detector_of_other_classes_begins_with_the_trained_boxes() -> None:
    trained, other, pixels = conv(), conv(classes=7), torch.rand(B, 3, 32, 32)
    torch.nn.init.normal_(trained.output.weight)
    other.load_state_dict(other.taken_from(trained.state_dict()))
    (_, sides), (logits, taken) = trained(pixels), other(pixels)
    torch.testing.assert_close(taken, sides)
    assert logits.shape[1] == 7
    assert conv().taken_from(trained.state_dict()).keys() == trained.state_dict().keys()


def test_padding_adds_nothing_to_the_convolutional_loss() -> None:
    model, given = conv(), batch()
    wider = SceneBatch(
        given.pixels_BChw,
        torch.cat([given.boxes_BM4, torch.rand(B, 3, 4)], dim=1),
        torch.cat([given.classes_BM, torch.full((B, 3), -1)], dim=1),
        3,
    )
    for name, term in model.loss(given, 0).items():
        torch.testing.assert_close(model.loss(wider, 0)[name].sum, term.sum)


def test_images_without_objects_have_a_finite_loss() -> None:
    empty = SceneBatch(torch.rand(B, 3, 32, 32), torch.zeros(B, 1, 4), torch.full((B, 1), -1), 0)
    for model in (detector(), conv()):
        for term in model.loss(empty, 0).values():
            assert torch.isfinite(term.sum)
