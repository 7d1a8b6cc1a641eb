"""Attention of a detector's object queries to one image, with the objects found."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from multihead.data.images.opening import open_image
from multihead.errors import UserError
from multihead.inspect.maps import record_cross
from multihead.tasks.detection.detections import QueryMap
from multihead.tasks.detection.detector import DetectedObject, Detector
from multihead.tasks.detection.objects import letterbox


@dataclass(frozen=True, slots=True)
class DetectionInspection:
    """An image, the objects found in it, and the attention of every query.

    Attributes:
        name: file name of the image.
        image: the image.
        objects: the prediction of each query, regardless of its score.
        weights_LHQrc: attention of the queries to the image: decoder layers, heads, queries, rows, columns.
    """

    name: str
    image: Image.Image
    objects: tuple[DetectedObject, ...]
    weights_LHQrc: NDArray[np.float32]

    def maps(
        self, threshold: float, layer: int | None = None, head: int | None = None, *, largest: bool = False
    ) -> list[QueryMap]:
        """Return the attention of the queries with at least this score, best first.

        Args:
            threshold: minimum score.
            layer: decoder layer, from 1; None: the last.
            head: head, from 1; None: the mean over the heads, or the maximum if ``largest``.
            largest: see ``head``.

        Raises:
            UserError: no such layer or head.
        """
        layers, heads = self.weights_LHQrc.shape[:2]
        for key, number, count in (("layer", layer, layers), ("head", head, heads)):
            if number is not None and not 1 <= number <= count:
                raise UserError(f"there is no {key} {number}", place=f"--{key}", remedy=f"Give 1 to {count}.")
        weights_HQrc = self.weights_LHQrc[layers - 1 if layer is None else layer - 1]
        if head is not None:
            weights_Qrc = weights_HQrc[head - 1]
        else:
            weights_Qrc = weights_HQrc.max(axis=0) if largest else weights_HQrc.mean(axis=0)
        order = sorted(range(len(self.objects)), key=lambda query: -self.objects[query].score)
        return [
            QueryMap(self.objects[query], query, weights_Qrc[query])
            for query in order
            if self.objects[query].score >= threshold
        ]


def inspect_detection(detector: Detector, path: Path) -> DetectionInspection:
    """Detect the objects of an image and record the attention of the queries.

    Attention to the grey padding beside the image is dropped.

    Raises:
        UserError: the file is missing, damaged or not an image; a model without queries.
    """
    image = open_image(path)
    if not hasattr(detector.model, "encode"):
        remedy = "Inspect a detr."
        raise UserError("this detector has no object queries", place=str(path), remedy=remedy)
    pixels, scale = letterbox(image, detector.size)
    pixels_1Chw = torch.from_numpy(pixels)[None].to(detector.device).float() / 255
    outputs: list[tuple[torch.Tensor, ...]] = []
    weights_LHQK = record_cross(detector.model, lambda model: outputs.append(model.detect(pixels_1Chw)))
    (boxes_BQ4, scores_BQ, classes_BQ) = (part.cpu() for part in outputs[0])
    limits = np.array([*image.size, *image.size], dtype=np.float64)
    objects = []
    for box_4, score, number in zip(boxes_BQ4[0], scores_BQ[0], classes_BQ[0], strict=True):
        box = (box_4.double().numpy() * detector.size / scale).clip(0, limits)
        objects.append(DetectedObject(detector.names[int(number)], float(score), tuple(box.tolist())))
    patch = int(detector.model.settings.patch_size)  # type: ignore[union-attr, arg-type]
    side = detector.size // patch
    grid = weights_LHQK.reshape(*weights_LHQK.shape[:3], side, side)
    rows, columns = (max(1, round(length * scale / patch)) for length in (image.height, image.width))
    return DetectionInspection(path.name, image, tuple(objects), grid[..., :rows, :columns])
