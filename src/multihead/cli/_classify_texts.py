"""``multihead classify`` for text classifiers."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from multihead.cli import _console
from multihead.cli._confusion import as_json, show
from multihead.errors import UserError
from multihead.run import Run
from multihead.tasks.classification.evaluation import measure, sets_of
from multihead.tasks.classification.text_classifier import Text, TextClassifier, TextPrediction
from multihead.text.corpus import read_lines
from multihead.text.tables import Example

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
    sets = sets_of(Run.open(folder).recipe.data, labelled, tests=tests)
    if tests and not sets:
        remedy = "Give labelled files with --labelled."
        raise UserError("the run's recipe has no test sets (data.tests)", place=folder, remedy=remedy)
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
    place = "text " if texts else f"{file or '-'}:"
    examples = (classifier.read(line, f"{place}{number}") for number, line in enumerate(lines, start=1))
    while chunk := list(islice(examples, CHUNK)):
        predictions = classifier.classify(chunk)
        for text, prediction in zip(chunk, predictions, strict=True):
            print(_as_json(text, prediction) if json_ else _line(prediction, max(1, top)))
        sys.stdout.flush()
    return 0


def _measure(
    folder: str, classifier: TextClassifier, sets: Mapping[str, Iterator[Example]], *, json_: bool
) -> None:
    measured = measure(folder, classifier, sets)
    if json_:
        results = {
            name: {**as_json(result.scores, classifier.names), "empty": result.empty}
            for name, result in measured.items()
        }
        print(json.dumps(results, indent=2, ensure_ascii=False))
        return
    console = _console.output()
    for name, result in measured.items():
        kind = "pairs" if classifier.pairs else "texts"
        show(f"{folder} on {name}: {result.scores.count:,} {kind}", result.scores, classifier.names, console)
        if result.empty:
            console.print(f"{result.empty:,} empty {kind} skipped (first: {', '.join(result.places)})")


def _line(prediction: TextPrediction, top: int) -> str:
    return "\t".join(f"{name} {100 * p:.1f} %" for name, p in islice(prediction.probabilities.items(), top))


def _as_json(text: Text, prediction: TextPrediction) -> str:
    texts = {"text": text} if isinstance(text, str) else dict(zip(("text", "second"), text, strict=True))
    return json.dumps({**texts, "probabilities": prediction.probabilities}, ensure_ascii=False)
