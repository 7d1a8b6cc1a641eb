"""``multihead classify`` for text classifiers."""

import json
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from multihead.addresses import located
from multihead.cli import _console
from multihead.cli._confusion import as_json, show
from multihead.errors import UserError
from multihead.generation.text_classifier import TextClassifier, TextPrediction, TextScores
from multihead.run import Run
from multihead.text.corpus import read_lines
from multihead.text.tables import read_labelled

CHUNK = 1024
"""Lines classified together."""


def run(
    folder: str,
    texts: Sequence[str],
    file: str | None,
    labelled: Sequence[str],
    *,
    tests: bool,
    top: int,
    json_: bool,
    device: str,
) -> int:
    """Run the command; the arguments are those of ``multihead classify``."""
    sets = _sets(folder, labelled, tests=tests)
    if bool(sets) + bool(texts) + bool(file) > 1:
        raise UserError(
            "texts, a file and test sets exclude each other", remedy="Give only one kind of input."
        )
    if not sets and not texts and not file and sys.stdin.isatty():
        raise UserError("there is nothing to classify", remedy="Give a text, or a file with -i FILE.")
    classifier = TextClassifier.load(folder, device)
    if sets:
        _measure(folder, classifier, sets, json_=json_)
        return 0
    lines = iter(texts) if texts else read_lines(file or "-")
    while chunk := list(islice(lines, CHUNK)):
        for text, prediction in zip(chunk, classifier.classify(chunk), strict=True):
            print(_as_json(text, prediction) if json_ else _line(prediction, max(1, top)))
        sys.stdout.flush()
    return 0


def _sets(folder: str, labelled: Sequence[str], *, tests: bool) -> dict[str, list[Path]]:
    sets = {}
    if tests:
        data = Run.open(folder).recipe.data
        if not data.tests:
            remedy = "Give labelled files with --labelled."
            raise UserError("the run's recipe has no test sets (data.tests)", place=folder, remedy=remedy)
        sets = {name: [located(data.dir, file) for file in files] for name, files in data.tests.items()}
    if labelled:
        sets[labelled[0]] = [Path(file) for file in labelled]
    return sets


def _measure(folder: str, classifier: TextClassifier, sets: dict[str, list[Path]], *, json_: bool) -> None:
    trained = Run.open(folder)
    data, labels = trained.recipe.data, trained.environment["data"].get("labels", [])
    found: dict[str, TextScores] = {}
    for name, paths in sets.items():
        examples = (
            e for path in paths for e in read_labelled(path, data.text_field, data.label_field, data.encoding)
        )
        found[name] = classifier.measure(examples, labels)
    if json_:
        results = {
            name: {**as_json(measured.scores, classifier.names), "empty": measured.empty}
            for name, measured in found.items()
        }
        print(json.dumps(results, indent=2, ensure_ascii=False))
        return
    console = _console.output()
    for name, measured in found.items():
        show(
            f"{folder} on {name}: {measured.scores.count:,} texts", measured.scores, classifier.names, console
        )
        if measured.empty:
            console.print(f"{measured.empty:,} empty texts skipped (first: {', '.join(measured.places)})")


def _line(prediction: TextPrediction, top: int) -> str:
    return "\t".join(f"{name} {100 * p:.1f} %" for name, p in islice(prediction.probabilities.items(), top))


def _as_json(text: str, prediction: TextPrediction) -> str:
    return json.dumps({"text": text, "probabilities": prediction.probabilities}, ensure_ascii=False)
