"""Average precision of detectors, computed by pycocotools, against numbers by hand."""

import math
import sys

import numpy as np
import pytest

from multihead.errors import UserError
from multihead.scores.detection import Detections, Truth, detection_scores

pytest.importorskip("pycocotools", reason="the extra [detect] is not installed")


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
    assert scores.ap == pytest.approx(1)  # the first reaches full recall
    other = Truth(np.array([[0.0, 0, 10, 10], [50, 50, 60, 60]]), np.array([0, 0]))
    both = Detections(
        np.array([[0.0, 0, 10, 10], [0, 0, 10, 10], [50, 50, 60, 60]]),
        np.array([0.9, 0.8, 0.7]),
        np.zeros(3, int),
    )
    assert detection_scores([other], [both], 1).ap == pytest.approx((51 + 50 * 2 / 3) / 101)


def test_images_without_objects_and_without_detections() -> None:
    nothing = Truth(np.zeros((0, 4)), np.zeros(0, dtype=np.int64))
    none = Detections(np.zeros((0, 4)), np.zeros(0), np.zeros(0, dtype=np.int64))
    assert math.isnan(detection_scores([nothing], [none], 2).ap)
    box = np.array([[0.0, 0, 10, 10]])
    scores = detection_scores([nothing, Truth(box, np.array([1]))], [none, none], 2)
    assert scores.ap == 0.0
    assert math.isnan(scores.by_class()[0])
    assert scores.objects == 1


def test_detections_within_a_crowd_are_ignored() -> None:
    boxes = np.array([[0.0, 0, 10, 10], [20, 0, 100, 100]])
    truth = Truth(boxes, np.array([0, 0]), np.array([False, True]))
    inside = np.array([[30.0, 30, 40, 40], [0, 0, 10, 10], [50, 50, 60, 60]])
    scores = detection_scores([truth], [Detections(inside, np.array([0.9, 0.8, 0.7]), np.zeros(3, int))], 1)
    assert scores.ap == pytest.approx(1)
    assert scores.objects == 1
    alone = Truth(boxes, np.array([0, 0]))
    found = detection_scores([alone], [Detections(inside, np.array([0.9, 0.8, 0.7]), np.zeros(3, int))], 1)
    assert found.ap == pytest.approx(51 / 101 / 2)


def test_objects_are_scored_by_their_size() -> None:
    sides = np.array([8.0, 64, 128])  # small, medium and large
    boxes = np.concatenate([np.zeros((3, 2)), np.repeat(sides[:, None], 2, axis=1)], axis=1)
    boxes += np.array([[0.0], [100], [300]])
    found = Detections(boxes[[0, 2]], np.array([0.9, 0.8]), np.zeros(2, int))
    scores = detection_scores([Truth(boxes, np.zeros(3, int))], [found], 1)
    assert scores.by_area == pytest.approx({"small": 1, "medium": 0, "large": 1})
    assert scores.recall == pytest.approx(2 / 3)


def test_missing_pycocotools_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycocotools.coco", None)
    with pytest.raises(UserError, match=r"pycocotools is not installed.*multihead\[detect\]"):
        detection_scores([], [], 1)
