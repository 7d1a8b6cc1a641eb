"""Evaluation of image classifiers on test sets."""

from pathlib import Path

from multihead.data.images.listing import list_images
from multihead.run import Run
from multihead.tasks.images.image_classifier import ImageClassifier
from multihead.tasks.test_sets import Results, test_sets


def evaluate(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    """Return the scores by test set; see ``recipe.tasks.Task.evaluate``."""
    data = Run.open(folder).recipe.data
    classifier = ImageClassifier.load(folder, device)
    results: dict[str, Results] = {}
    for name, names in test_sets(data, files).items():
        place = "--src" if files else f"data.tests.{name}"
        scores = classifier.measure(list_images(names, Path(data.dir), place))
        results[name] = {"images": scores.count, "accuracy": scores.accuracy, "f1": scores.f1}
    return results
