"""Average precision of object detectors by COCO's own evaluation (Lin et al. 2014; pycocotools).

Edges of a box are (left, top, right, bottom). Suffixes: D detections, G ground-truth objects, T thresholds.
"""

import contextlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multihead.errors import UserError

Floats = NDArray[np.float64]

MOST = 100
"""Maximum number of detections per image and class."""


@dataclass(frozen=True)
class Truth:
    """The objects of an image.

    Attributes:
        boxes_G4: edges in pixels.
        classes_G: classes, from 0.
        crowd_G: True for a region of many objects, in which any number of detections is ignored.
        areas_G: areas in square pixels; default: the boxes' areas.
    """

    boxes_G4: Floats
    classes_G: NDArray[np.int64]
    crowd_G: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    areas_G: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        count = len(self.classes_G)
        if len(self.crowd_G) != count:
            object.__setattr__(self, "crowd_G", np.zeros(count, dtype=np.bool_))
        if len(self.areas_G) != count:
            object.__setattr__(self, "areas_G", _areas(self.boxes_G4))


@dataclass(frozen=True)
class Detections:
    """The detections of an image: edges in pixels, scores and classes."""

    boxes_D4: Floats
    scores_D: Floats
    classes_D: NDArray[np.int64]


@dataclass(frozen=True)
class DetectionScores:
    """Average precisions and recalls, from 0 to 1; nan if there is no object.

    Attributes:
        precision_TK: average precision at each threshold and class, over objects of any size.
        by_area: AP by range of areas: small, medium, large.
        recall: average recall with up to 100 detections an image and class (AR).
        images: number of images.
        objects: number of objects, without crowds.
    """

    precision_TK: Floats
    by_area: dict[str, float]
    recall: float
    images: int
    objects: int

    @property
    def ap(self) -> float:
        """AP@[.5:.95]: the mean over thresholds and the classes with objects."""
        return _mean(self.precision_TK)

    @property
    def ap50(self) -> float:
        """AP at a threshold of 0.5."""
        return _mean(self.precision_TK[0])

    @property
    def ap75(self) -> float:
        """AP at a threshold of 0.75."""
        return _mean(self.precision_TK[5])

    def by_class(self) -> list[float]:
        """AP of each class; nan for a class without objects."""
        return [_mean(column) for column in self.precision_TK.T]


def detection_scores(
    truths: Sequence[Truth], detections: Sequence[Detections], classes: int
) -> DetectionScores:
    """Return the average precisions of the detections of several images.

    Args:
        truths: the objects of each image.
        detections: the detections of each image, in any order.
        classes: number of classes, K.

    Raises:
        UserError: pycocotools is not installed.
        ValueError: the numbers of images differ.
    """
    try:
        coco, evaluation = import_module("pycocotools.coco"), import_module("pycocotools.cocoeval")
    except ImportError as error:
        remedy = "Run: pip install 'multihead[detect]'"
        raise UserError("pycocotools is not installed", remedy=remedy) from error
    objects, boxes = [], []
    for image, (truth, detected) in enumerate(zip(truths, detections, strict=True)):
        for edges, kind, crowd, area in zip(
            truth.boxes_G4, truth.classes_G, truth.crowd_G, truth.areas_G, strict=True
        ):
            objects.append(_annotation(image, edges, kind) | {"iscrowd": int(crowd), "area": float(area)})
        areas = _areas(detected.boxes_D4)
        for edges, kind, score, area in zip(
            detected.boxes_D4, detected.classes_D, detected.scores_D, areas, strict=True
        ):
            boxes.append(_annotation(image, edges, kind) | {"score": float(score), "area": float(area)})
    with contextlib.redirect_stdout(io.StringIO()):  # pycocotools reports its progress there
        judge = evaluation.COCOeval(
            *(_dataset(coco.COCO(), rows, len(truths), classes) for rows in (objects, boxes)), "bbox"
        )
        judge.params.maxDets = [MOST]
        judge.evaluate()
        judge.accumulate()
    precision_TRKA, recall_TKA = judge.eval["precision"][..., 0], judge.eval["recall"][..., 0]
    # -1: the class has no object of this size.
    precision_TKA = np.where(precision_TRKA < 0, np.nan, precision_TRKA).mean(axis=1)
    return DetectionScores(
        precision_TKA[..., 0],
        {
            name: _mean(precision_TKA[..., place])
            for place, name in enumerate(("small", "medium", "large"), 1)
        },
        _mean(np.where(recall_TKA < 0, np.nan, recall_TKA)[..., 0]),
        len(truths),
        sum(int((~truth.crowd_G).sum()) for truth in truths),
    )


def _annotation(image: int, edges_4: Floats, kind: int) -> dict[str, Any]:
    left, top, right, bottom = edges_4.tolist()
    return {"image_id": image, "category_id": int(kind), "bbox": [left, top, right - left, bottom - top]}


def _dataset(coco: Any, rows: Iterable[dict[str, Any]], images: int, classes: int) -> Any:
    """Fill a pycocotools.coco.COCO with annotations; their ids start at 1, because 0 means "not matched"."""
    coco.dataset = {
        "images": [{"id": number} for number in range(images)],
        "annotations": [{"id": number, "iscrowd": 0, **row} for number, row in enumerate(rows, start=1)],
        "categories": [{"id": number} for number in range(classes)],
    }
    coco.createIndex()
    return coco


def _areas(boxes_N4: Floats) -> Floats:
    sides: Floats = (boxes_N4[:, 2:] - boxes_N4[:, :2]).clip(0).prod(axis=1)
    return sides


def _mean(values: Floats) -> float:
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")
