"""Choose the number of views of an image classifier on held-out training images, then test once.

    python benchmarks/choose_views.py RUN [--write]

Measures 1, 2 and 10 views (``multihead classify --views``) on the validation images of the run, which were
held out of its training set, and only the best of them on the recipe's test sets. Prints JSON; with --write
also to results/views.json.
"""

import json
from pathlib import Path
from typing import Annotated, get_args

import tyro

from multihead.data.images.listing import ArrayListing, list_images
from multihead.run import Run
from multihead.run.environment import environment
from multihead.tasks.images.image_classifier import ImageClassifier, Views
from multihead.tasks.images.prepare import prepare

RESULT = Path(__file__).parents[1] / "results" / "views.json"


def held_out(run: Run, names: tuple[str, ...]) -> ArrayListing:
    """Return the run's validation images, grey."""
    store = prepare(run.recipe.data).valid
    pixels = store.pixels[:, 0]
    return ArrayListing(pixels, [names[label] for label in store.labels.tolist()], "held out", numbered=False)


def main(folder: Annotated[Path, tyro.conf.Positional], write: bool = False) -> None:
    """Choose, measure and print."""
    run, classifier = Run.open(folder), ImageClassifier.load(folder)
    images = held_out(run, classifier.names)
    by_views = {views: classifier.measure(images, views=views).accuracy for views in get_args(Views)}
    best: Views = max(by_views, key=lambda views: by_views[views])
    data = run.recipe.data
    told = {
        "steps": run.recipe.training.steps,
        "held_out": {"images": len(images.labels), "accuracy_by_views": by_views},
        "chosen": best,
        "tests": {
            name: classifier.measure(list_images(files, Path(data.dir), name), views=best).accuracy
            for name, files in data.tests.items()
        },
        "environment": environment({}),
    }
    print(json.dumps(told, indent=2))
    if write:
        RESULT.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
