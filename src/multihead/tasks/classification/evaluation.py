"""Evaluation of text classifiers on test sets."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from multihead.run import Run
from multihead.tasks.classification import same_words
from multihead.tasks.classification.settings import DataSettings
from multihead.tasks.classification.text_classifier import TextClassifier, TextScores
from multihead.tasks.masked.texts import examples
from multihead.tasks.test_sets import GENERATED, Results
from multihead.text.tables import Example


def evaluate(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    """Return the scores by test set; see ``recipe.tasks.Task.evaluate``."""
    classifier = TextClassifier.load(folder, device)
    sets = sets_of(Run.open(folder).recipe.data, files, tests=not files)
    results: dict[str, Results] = {}
    for name, one in measure(folder, classifier, sets).items():
        scores = {"accuracy": one.scores.accuracy, "f1": one.scores.f1}
        results[name] = {"texts": one.scores.count, "empty": one.empty, **scores}
    return results


def sets_of(data: DataSettings, labelled: Sequence[str], *, tests: bool) -> dict[str, Iterator[Example]]:
    """Return the examples of each set: named files, the recipe's test sets, and the generated one."""
    sets = {}
    if tests:
        sets = {name: examples(data, files) for name, files in data.tests.items()}
        if data.generate:
            sets[GENERATED] = same_words.test_pairs(data)
    if labelled:
        sets[labelled[0]] = examples(data, [str(Path(file).absolute()) for file in labelled])
    return sets


def measure(
    folder: str, classifier: TextClassifier, sets: Mapping[str, Iterator[Example]]
) -> dict[str, TextScores]:
    """Return the scores on each set of examples."""
    labels = Run.open(folder).environment["data"].get("labels", [])
    return {name: classifier.measure(chosen, labels) for name, chosen in sets.items()}
