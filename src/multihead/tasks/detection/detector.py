"""Object detection with a trained run."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from PIL import Image
from torch import nn

from multihead.data.images.opening import Pixels, open_image
from multihead.errors import UserError
from multihead.inspect.maps.calls import evaluating
from multihead.run import Run
from multihead.scores.detection import Detections, DetectionScores, Truth, detection_scores
from multihead.system import hardware
from multihead.system.hardware import Precision
from multihead.tasks.detection.coco import CocoSet
from multihead.tasks.detection.objects import GeneratedScenes, letterbox, open_annotated
from multihead.tasks.rows_alone import RowsAlone

BATCH = 32
"""Images computed together."""


@dataclass(frozen=True)
class DetectedObject:
    """An object found in an image.

    Attributes:
        name: its class.
        score: the probability of the class, from 0 to 1.
        box: left, top, right and bottom edge in pixels of the image.
    """

    name: str
    score: float
    box: tuple[float, float, float, float]


class Detector:
    """Finds the objects in images.

    Args:
        model: a model with ``detect(pixels)``; its settings give the image size and the class names.
        device: device to compute on.
        precision: precision of matrix products.
    """

    def __init__(self, model: nn.Module, *, device: torch.device, precision: Precision = "fp32") -> None:
        self.model, self.device = model.to(device), device
        detect: Any = model.detect
        self._alone = RowsAlone(model, lambda pixels: detect(pixels)[1])
        self.dtype = hardware.pick_dtype(precision, device)
        sizes: Any = model.settings
        self.names: tuple[str, ...] = sizes.class_names
        self.size = int(sizes.image_size)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Load a trained run.

        Raises:
            UserError: not a run; not a detector; not trained yet; no such device.
        """
        run, where = Run.open(folder).fit_for("detection"), hardware.pick_device(device)
        return cls(run.load_model(where), device=where)

    def detect(self, images: Sequence[str | Path], threshold: float = 0.5) -> list[list[DetectedObject]]:
        """Return the objects in each image file, best score first; none for an image without objects.

        Args:
            images: image files of any size.
            threshold: minimum score of an object.

        Raises:
            UserError: a file is missing, damaged, or not an image.
        """
        contents = map(open_image, map(Path, images))
        return [self.objects(detections, threshold) for detections in self.detections(contents)]

    def objects(self, detections: Detections, threshold: float) -> list[DetectedObject]:
        """Return the detections with at least this score, best first."""
        order = np.argsort(-detections.scores_D, kind="stable")
        return [
            DetectedObject(
                self.names[detections.classes_D[i]],
                float(detections.scores_D[i]),
                tuple(detections.boxes_D4[i].tolist()),
            )
            for i in order.tolist()
            if detections.scores_D[i] >= threshold
        ]

    def detections(self, images: Iterable[Image.Image]) -> Iterator[Detections]:
        """Yield all detections of each image, in its own pixels and clipped to it."""
        batch: list[tuple[Pixels, float, tuple[int, int]]] = []
        for image in images:
            batch.append((*letterbox(image, self.size), image.size))
            if len(batch) == BATCH:
                yield from self._detections(batch)
                batch = []
        if batch:
            yield from self._detections(batch)

    def measure_generated(self, scenes: GeneratedScenes) -> DetectionScores:
        """Return the average precision on generated scenes.

        Raises:
            UserError: the classes differ from the model's.
        """
        self._check_names(tuple(scenes.maker.stencils.names), "data.generate")
        generated = [scenes.scene(number, 0) for number in range(len(scenes))]
        truths = [Truth(scene.boxes_M4.astype(np.float64), scene.classes_M) for scene in generated]
        images = (Image.fromarray(scene.pixels_Chw.transpose(1, 2, 0)) for scene in generated)
        return detection_scores(truths, list(self.detections(images)), len(self.names))

    def measure(self, coco: CocoSet) -> DetectionScores:
        """Return the average precision on annotated images.

        Raises:
            UserError: the classes differ from the model's; an image that cannot be read, or whose size
                differs from its annotation.
        """
        self._check_names(coco.names, str(coco.path))
        truths = [
            Truth(image.boxes_G4, image.classes_G, image.crowd_G, image.areas_G) for image in coco.images
        ]
        images = map(open_annotated, coco.images)
        return detection_scores(truths, list(self.detections(images)), len(self.names))

    def _check_names(self, names: tuple[str, ...], place: str) -> None:
        if names != self.names:
            fact = f"the classes are {', '.join(names)}, but the model knows {', '.join(self.names)}"
            raise UserError(fact, place=place, remedy="Give images with the classes of the training data.")

    def _detections(self, batch: list[tuple[Pixels, float, tuple[int, int]]]) -> Iterator[Detections]:
        stacked = np.stack([pixels_Chw for pixels_Chw, _, _ in batch])
        pixels = torch.from_numpy(stacked).to(self.device).float() / 255
        self._alone.compare(pixels)
        with evaluating(self.model), torch.inference_mode(), hardware.autocast(self.device, self.dtype):
            outputs = [part.float().cpu().numpy() for part in self.model.detect(pixels)]  # type: ignore[operator]
        for row, (_, scale, (width, height)) in enumerate(batch):
            limits = np.array([width, height, width, height], dtype=np.float64)
            boxes = (outputs[0][row].astype(np.float64) * self.size / scale).clip(0, limits)
            inside = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
            scores, classes = outputs[1][row].astype(np.float64), outputs[2][row].astype(np.int64)
            yield Detections(boxes[inside], scores[inside], classes[inside])
