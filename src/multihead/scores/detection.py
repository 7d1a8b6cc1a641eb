"""Average precision of object detectors, by the definition of COCO (Lin et al. 2014; its API, pycocotools).

Edges of a box are (left, top, right, bottom). Suffixes: D detections, G ground-truth objects, T thresholds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

THRESHOLDS: Floats = np.linspace(0.5, 0.95, 10)
"""Thresholds of the intersection over union, of which the metric AP is the mean."""
RECALLS: Floats = np.linspace(0.0, 1.0, 101)
"""Recalls at which precision is averaged."""
MOST = 100
"""Detections of a picture and class that count."""
AREAS = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
"""Ranges of the area of objects, in square pixels."""


@dataclass(frozen=True)
class Truth:
    """The objects of a picture.

    Attributes:
        boxes_G4: edges in pixels.
        classes_G: classes, from 0.
        crowd_G: True for a region of many objects, in which any number of detections is ignored.
        areas_G: areas in square pixels; default: those of the boxes.
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
    """The detections of a picture: edges in pixels, scores and classes."""

    boxes_D4: Floats
    scores_D: Floats
    classes_D: NDArray[np.int64]


@dataclass(frozen=True)
class DetectionScores:
    """Average precisions and recalls, from 0 to 1; nan where there is no object.

    Attributes:
        precision_TK: average precision at each threshold and class, over objects of any size.
        by_area: AP by range of areas: small, medium, large.
        recall: average recall with up to 100 detections a picture and class (AR).
        pictures: number of pictures.
        objects: number of objects, without crowds.
    """

    precision_TK: Floats
    by_area: dict[str, float]
    recall: float
    pictures: int
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
    """Return the average precisions of the detections of several pictures.

    Args:
        truths: the objects of each picture.
        detections: the detections of each picture, in any order.
        classes: number of classes, K.

    Raises:
        ValueError: the numbers of pictures differ.
    """
    pairs = list(zip(truths, detections, strict=True))
    precision = {name: np.full((len(THRESHOLDS), classes), np.nan) for name in AREAS}
    recall = np.full((len(THRESHOLDS), classes), np.nan)
    for number in range(classes):
        compared = [_of_class(truth, found, number) for truth, found in pairs]
        for name, limits in AREAS.items():
            matches = [_matched(*one, limits) for one in compared]
            averages, reached = _averages(matches)
            precision[name][:, number] = averages
            if name == "all":
                recall[:, number] = reached
    return DetectionScores(
        precision["all"],
        {name: _mean(precision[name]) for name in ("small", "medium", "large")},
        _mean(recall),
        len(pairs),
        sum(int((~truth.crowd_G).sum()) for truth in truths),
    )


def box_ious(found_D4: Floats, true_G4: Floats, crowd_G: NDArray[np.bool_]) -> Floats:
    """Return the intersections over unions, (D, G); over the detection's area where the object is a crowd."""
    low = np.maximum(found_D4[:, None, :2], true_G4[None, :, :2])
    high = np.minimum(found_D4[:, None, 2:], true_G4[None, :, 2:])
    common = (high - low).clip(0).prod(axis=-1)
    own = _areas(found_D4)[:, None]
    union = np.where(crowd_G[None, :], own, own + _areas(true_G4)[None, :] - common)
    ious: Floats = common / np.maximum(union, 1e-12)
    return ious


@dataclass(frozen=True)
class _Matches:
    """The detections of one class in one picture: scores, and for each threshold whether they are right."""

    scores_D: Floats
    right_TD: NDArray[np.bool_]
    ignored_TD: NDArray[np.bool_]
    objects: int


_Compared = tuple[Truth, Detections, Floats]


def _of_class(truth: Truth, found: Detections, number: int) -> _Compared:
    """Return the objects and the best detections of one class, and their overlaps."""
    own = truth.classes_G == number
    chosen = np.flatnonzero(found.classes_D == number)
    order = chosen[np.argsort(-found.scores_D[chosen], kind="stable")][:MOST]
    part = Truth(truth.boxes_G4[own], truth.classes_G[own], truth.crowd_G[own], truth.areas_G[own])
    best = Detections(found.boxes_D4[order], found.scores_D[order], found.classes_D[order])
    return part, best, box_ious(best.boxes_D4, part.boxes_G4, part.crowd_G)


def _matched(truth: Truth, found: Detections, ious_DG: Floats, limits: tuple[float, float]) -> _Matches:
    """Match the detections, best score first, each to the free object that it overlaps most."""
    low, high = limits
    ignored_G = truth.crowd_G | (truth.areas_G < low) | (truth.areas_G > high)
    order = np.argsort(ignored_G, kind="stable")
    ignored_G, crowd_G, ious_DG = ignored_G[order], truth.crowd_G[order], ious_DG[:, order]
    D = len(found.scores_D)
    right = np.zeros((len(THRESHOLDS), D), dtype=np.bool_)
    ignored = np.zeros((len(THRESHOLDS), D), dtype=np.bool_)
    areas_D = _areas(found.boxes_D4)
    outside_D = (areas_D < low) | (areas_D > high)
    for t, threshold in enumerate(THRESHOLDS):
        taken = np.zeros(len(ignored_G), dtype=np.bool_)
        for d in range(D):
            g = _best(ious_DG[d], taken & ~crowd_G, ignored_G, threshold)
            if g is None:
                ignored[t, d] = outside_D[d]
            else:
                taken[g] = True
                right[t, d], ignored[t, d] = not ignored_G[g], ignored_G[g]
    return _Matches(found.scores_D, right, ignored, int((~ignored_G).sum()))


def _best(
    ious_G: Floats, taken_G: NDArray[np.bool_], ignored_G: NDArray[np.bool_], threshold: float
) -> int | None:
    """Return the free object of largest overlap; an ignored one only if no other reaches the threshold."""
    for kind in (~ignored_G, ignored_G):
        free = np.flatnonzero(kind & ~taken_G & (ious_G >= min(threshold, 1 - 1e-10)))
        if len(free):
            # Of equal overlaps the last one, as in pycocotools.
            return int(free[len(free) - 1 - ious_G[free][::-1].argmax()])
    return None


def _averages(matches: Sequence[_Matches]) -> tuple[Floats, Floats]:
    """Return average precision and greatest recall of one class, (T,) each; nan without objects."""
    objects = sum(one.objects for one in matches)
    if not objects:
        return np.full(len(THRESHOLDS), np.nan), np.full(len(THRESHOLDS), np.nan)
    order = np.argsort(-np.concatenate([one.scores_D for one in matches]), kind="stable")
    right_TD = np.concatenate([one.right_TD for one in matches], axis=1)[:, order]
    ignored_TD = np.concatenate([one.ignored_TD for one in matches], axis=1)[:, order]
    averages, reached = np.zeros(len(THRESHOLDS)), np.zeros(len(THRESHOLDS))
    for t in range(len(THRESHOLDS)):
        right = right_TD[t][~ignored_TD[t]]
        if not len(right):
            continue
        hits = np.cumsum(right)
        recall, precision = hits / objects, hits / np.arange(1, len(right) + 1)
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        places = np.searchsorted(recall, RECALLS, side="left")
        averages[t] = np.where(places < len(right), envelope[places.clip(max=len(right) - 1)], 0.0).mean()
        reached[t] = recall[-1]
    return averages, reached


def _areas(boxes_N4: Floats) -> Floats:
    sides: Floats = (boxes_N4[:, 2:] - boxes_N4[:, :2]).clip(0).prod(axis=1)
    return sides


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
