"""Evaluation of object detectors on test sets."""

import math
from pathlib import Path

from multihead.run import Run
from multihead.tasks.detection.coco import read_coco
from multihead.tasks.detection.detector import Detector
from multihead.tasks.detection.objects import generated_test_scenes
from multihead.tasks.test_sets import GENERATED, Results, test_sets


def evaluate(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    """Return the scores by test set; see ``recipe.tasks.Task.evaluate``."""
    data = Run.open(folder).recipe.data
    detector = Detector.load(folder, device)
    base = Path(data.dir)
    measured = {}
    for name, names in test_sets(data, files).items():
        if data.generate and not files:
            measured[name] = detector.measure_generated(generated_test_scenes(data, names))
        else:
            key = "--src" if files else f"data.tests.{name}"
            measured[name] = detector.measure(read_coco(names, base, key, detector.names))
    if data.generate == "shapes" and not files:
        measured[GENERATED] = detector.measure_generated(generated_test_scenes(data))
    results: dict[str, Results] = {}
    for name, scores in measured.items():
        values = {"AP": scores.ap, "AP50": scores.ap50, "AP75": scores.ap75}
        values |= {f"AP {area}": value for area, value in scores.by_area.items()} | {"AR": scores.recall}
        by_class = {
            f"AP {name}": value for name, value in zip(detector.names, scores.by_class(), strict=True)
        }
        defined = {key: None if math.isnan(value) else value for key, value in (values | by_class).items()}
        results[name] = {"images": scores.images, "objects": scores.objects, **defined}
    return results
