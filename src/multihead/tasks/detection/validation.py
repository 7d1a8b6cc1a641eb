"""Validation of an object detector: loss, average precision, and the average precision of each class."""

import math

import numpy as np
import torch
from torch import nn

from multihead.data.plan import evenly_spaced
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.scores.detection import Detections, DetectionScores, Truth, detection_scores
from multihead.system import hardware
from multihead.tasks.detection.objects import SceneSet
from multihead.tasks.detection.scene_batches import SceneBatches
from multihead.training import Validation


class Validator:
    """Validates a model on at most ``validation.max_examples`` evenly spaced images."""

    def __init__(self, scenes: SceneSet, recipe: Recipe[Settings], device: torch.device) -> None:
        self.scenes, self.device = scenes, device
        self.dtype = hardware.pick_dtype(recipe.training.precision, device)
        self.batch_images = recipe.training.batch_images
        self.names: tuple[str, ...] = getattr(recipe.model, "class_names", ())
        self.indices = evenly_spaced(len(scenes), recipe.validation.max_examples)

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return loss per object and AP at several thresholds; the AP of each class as samples."""
        loss, objects = 0.0, 0
        truths: list[Truth] = []
        detections: list[Detections] = []
        batches = SceneBatches(self.scenes)
        for start in range(0, len(self.indices), self.batch_images):
            rows = self.indices[start : start + self.batch_images]
            batch = batches.batch(rows, 0).to(self.device)
            with hardware.autocast(self.device, self.dtype):
                terms = model.loss(batch, step)  # type: ignore[operator]
                outputs = model.detect(batch.pixels_BChw)  # type: ignore[operator]
            loss += sum(term.weight * term.sum.item() for term in terms.values())
            objects += batch.objects
            size = batch.pixels_BChw.shape[-1]
            for row in rows.tolist():
                scene = self.scenes.scene(row, 0)
                truths.append(Truth(scene.boxes_M4.astype(np.float64), scene.classes_M))
            for edges_N4, scores_N, classes_N in zip(*(part.float().cpu() for part in outputs), strict=True):
                boxes = edges_N4.double().numpy() * size
                detections.append(Detections(boxes, scores_N.double().numpy(), classes_N.long().numpy()))
        scores = detection_scores(truths, detections, len(self.names))
        metrics = {"loss": loss / max(1, objects), **main_scores(scores)}
        return Validation(metrics, by_class(scores, self.names))


def main_scores(scores: DetectionScores) -> dict[str, float]:
    """Return the main scores by name; 0 if there is no object."""
    values = {"ap": scores.ap, "ap50": scores.ap50, "ap75": scores.ap75}
    return {name: 0.0 if math.isnan(value) else value for name, value in values.items()}


def by_class(scores: DetectionScores, names: tuple[str, ...]) -> str:
    """Return the average precision of each class, a line each."""
    return "\n".join(
        f"{name}: AP {value:.3f}"
        for name, value in zip(names, scores.by_class(), strict=True)
        if not math.isnan(value)
    )
