"""Average precision of detectors: against pycocotools, and by hand."""

import contextlib
import io
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from multihead.scores.detection import Detections, Truth, box_ious, detection_scores

CLASSES = 3


def made_up(seed: int, pictures: int) -> tuple[list[Truth], list[Detections]]:
    """Return random objects, and detections near some of them, with ties, crowds and every range of area."""
    random = np.random.default_rng(seed)
    truths, found = [], []
    for _ in range(pictures):
        count = int(random.integers(0, 7))
        low = random.integers(0, 150, (count, 2)).astype(float)
        boxes = np.concatenate([low, low + random.integers(4, 160, (count, 2))], axis=1)
        classes = random.integers(0, CLASSES, count)
        crowd = random.random(count) < 0.15
        truths.append(Truth(boxes, classes, crowd, _areas(boxes)))
        near = np.repeat(boxes, 2, axis=0) + random.integers(-9, 10, (2 * count, 4))
        stray = np.concatenate([random.integers(0, 90, (3, 2)), random.integers(100, 200, (3, 2))], axis=1)
        detected = np.concatenate([near, stray.astype(float)])
        detected[:, 2:] = np.maximum(detected[:, 2:], detected[:, :2] + 1)
        kinds = np.concatenate([np.repeat(classes, 2), random.integers(0, CLASSES, 3)])
        wrong = random.random(len(kinds)) < 0.2
        kinds = np.where(wrong, random.integers(0, CLASSES, len(kinds)), kinds)
        scores = random.integers(1, 20, len(kinds)) / 20  # with ties
        found.append(Detections(detected, scores, kinds))
    return truths, found


def _areas(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    areas: NDArray[np.float64] = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return areas


def by_pycocotools(truths: list[Truth], found: list[Detections]) -> list[float]:
    """Return AP, AP50, AP75, small, medium, large, and AR with 100 detections."""
    coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")
    cocoeval = pytest.importorskip("pycocotools.cocoeval")
    images = [{"id": number + 1} for number in range(len(truths))]
    annotations: list[dict[str, object]] = []
    results: list[dict[str, object]] = []
    for number, (truth, one) in enumerate(zip(truths, found, strict=True)):
        for box, kind, crowd, area in zip(
            truth.boxes_G4, truth.classes_G, truth.crowd_G, truth.areas_G, strict=True
        ):
            entry = {"image_id": number + 1, "category_id": int(kind) + 1, "bbox": _sides(box)}
            annotations.append(
                entry | {"id": len(annotations) + 1, "iscrowd": int(crowd), "area": float(area)}
            )
        for box, kind, score in zip(one.boxes_D4, one.classes_D, one.scores_D, strict=True):
            entry = {"image_id": number + 1, "category_id": int(kind) + 1, "bbox": _sides(box)}
            results.append(entry | {"score": float(score)})
    with contextlib.redirect_stdout(io.StringIO()):
        reference = coco.COCO()
        categories = [{"id": kind + 1, "name": str(kind)} for kind in range(CLASSES)]
        reference.dataset = {"images": images, "annotations": annotations, "categories": categories}
        reference.createIndex()
        judge = cocoeval.COCOeval(reference, reference.loadRes(results), "bbox")
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return [float(judge.stats[place]) for place in (0, 1, 2, 3, 4, 5, 8)]


def _sides(box: NDArray[np.float64]) -> list[float]:
    return [float(box[0]), float(box[1]), float(box[2] - box[0]), float(box[3] - box[1])]


@pytest.mark.parametrize("seed", range(7))
def test_scores_are_those_of_pycocotools(seed: int) -> None:
    truths, found = made_up(seed, pictures=23)
    scores = detection_scores(truths, found, CLASSES)
    own = [scores.ap, scores.ap50, scores.ap75, *scores.by_area.values(), scores.recall]
    assert own == pytest.approx(by_pycocotools(truths, found), abs=1e-9)
    assert 0.05 < scores.ap < 0.95


def test_average_precision_by_hand() -> None:
    # One object found, one missed, one false alarm in between of no importance: precision 1 up to recall 0.5.
    boxes = np.array([[0.0, 0, 10, 10], [20, 20, 30, 30]])
    truth = Truth(boxes, np.array([0, 0]))
    right = Detections(boxes[:1], np.array([0.9]), np.array([0]))
    assert detection_scores([truth], [right], 1).ap == pytest.approx(51 / 101)
    shifted = np.array([[0.0, 0, 10, 7.6], [50, 50, 60, 60], [20, 20, 30, 30]])
    found = Detections(shifted, np.array([0.9, 0.8, 0.7]), np.zeros(3, dtype=np.int64))
    scores = detection_scores([truth], [found], 1)
    assert scores.ap50 == pytest.approx((51 + 50 * 2 / 3) / 101)
    assert scores.precision_TK[5, 0] == pytest.approx(scores.ap50)  # IoU 0.76
    assert scores.precision_TK[6, 0] == pytest.approx(51 / 101 / 3)  # IoU 0.80: the best box is false


def test_a_second_box_on_the_same_object_is_false() -> None:
    box = np.array([[0.0, 0, 10, 10]])
    twice = Detections(np.repeat(box, 2, axis=0), np.array([0.5, 0.9]), np.array([0, 0]))
    scores = detection_scores([Truth(box, np.array([0]))], [twice], 1)
    assert scores.ap == 1.0  # the first reaches full recall
    other = Truth(np.array([[0.0, 0, 10, 10], [50, 50, 60, 60]]), np.array([0, 0]))
    both = Detections(
        np.array([[0.0, 0, 10, 10], [0, 0, 10, 10], [50, 50, 60, 60]]),
        np.array([0.9, 0.8, 0.7]),
        np.zeros(3, int),
    )
    assert detection_scores([other], [both], 1).ap == pytest.approx((51 + 50 * 2 / 3) / 101)


def test_pictures_without_objects_and_without_detections() -> None:
    nothing = Truth(np.zeros((0, 4)), np.zeros(0, dtype=np.int64))
    none = Detections(np.zeros((0, 4)), np.zeros(0), np.zeros(0, dtype=np.int64))
    assert math.isnan(detection_scores([nothing], [none], 2).ap)
    box = np.array([[0.0, 0, 10, 10]])
    scores = detection_scores([nothing, Truth(box, np.array([1]))], [none, none], 2)
    assert scores.ap == 0.0
    assert math.isnan(scores.by_class()[0])
    assert scores.objects == 1


def test_overlap_with_a_crowd_is_measured_over_the_detection() -> None:
    found, true = np.array([[0.0, 0, 4, 5]]), np.array([[0.0, 0, 8, 5], [0, 0, 8, 5]])
    assert box_ious(found, true, np.array([False, True])).tolist() == [[0.5, 1.0]]
