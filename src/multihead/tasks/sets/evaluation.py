"""Evaluation of models of sets on test sets."""

from pathlib import Path

from multihead.data.images.listing import list_images
from multihead.run import Run
from multihead.tasks.sets.odd_one_out import OddOneOut
from multihead.tasks.test_sets import Results, test_sets


def evaluate(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    """Return the scores by test set; see ``recipe.tasks.Task.evaluate``."""
    data = Run.open(folder).recipe.data
    model = OddOneOut.load(folder, device)
    results: dict[str, Results] = {}
    for name, names in test_sets(data, files).items():
        scores = model.measure(list_images(names, Path(data.dir), "--src" if files else f"data.tests.{name}"))
        results[name] = {"sets": scores.sets, "accuracy": scores.accuracy, "chance": scores.chance}
    return results
