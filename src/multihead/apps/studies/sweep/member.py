"""One member of a sweep, in its own process: ``python -m multihead.apps.studies.sweep TOML RUN``.

Trains the recipe in the run folder, or resumes it, evaluates it on the recipe's test sets, and writes
``result.json`` into the run folder. Exit codes are the command line's.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from multihead import recipe as recipes
from multihead.data.hashes import file_sha256
from multihead.data.images.listing import Listing, list_images
from multihead.errors import UserError
from multihead.recipe import Recipe, recipe_hash
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.scores import by_length
from multihead.system import disk
from multihead.system.safe_parsing import parse_json
from multihead.tasks.images.image_classifier import ImageClassifier
from multihead.tasks.translation.evaluate import Evaluation, evaluate, test_sets
from multihead.tasks.translation.lines import Translator
from multihead.training import Outcome
from multihead.workflows.train import train

RESULT = "result.json"
DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130
RESERVED = ("recipe", "parameters", "steps", "minutes", "seconds_an_epoch")
"""Reserved keys of a result: not names of test sets."""
LENGTHS = (10, 20, 30)
"""Bounds (source words) of BLEU by length."""


def result_of(recipe: Recipe[Settings], folder: Path) -> dict[str, Any] | None:
    """Return the result of this recipe in a run folder; None without a result of these settings."""
    try:
        result: Any = parse_json(disk.content(folder / RESULT))
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) and result.get("recipe") == _identity(recipe) else None


def run_member(recipe: Recipe[Settings], folder: Path) -> dict[str, Any] | None:
    """Train, evaluate, save the result and return it; None if interrupted.

    Raises:
        UserError: see ``workflows.train.train``.
    """
    observer = _Observer()
    # Read before training, so that a missing file is an error at once.
    tests = test_sets(recipe.data) if recipe.task == "translation" and recipe.data.tests else []
    images = _image_tests(recipe.data) if recipe.task == "images" else {}
    names = [*(test.name for test in tests), *images]
    if reserved := next((name for name in names if name in RESERVED), None):
        raise UserError(f'a test set cannot be called "{reserved}" in a sweep', place="data.tests")
    outcome = train(recipe, folder, observer)
    if outcome.status == "interrupted":
        return None
    run = Run.open(folder)
    result = {"recipe": _identity(recipe), **observer.numbers(outcome)}
    if tests:
        translator = Translator.load(folder, device=recipe.training.device)
        for test in tests:
            result[test.name] = _numbers(evaluate(translator, test, recipe.search))
    if images:
        classifier = ImageClassifier.load(folder, device=recipe.training.device)
        for name, listing in images.items():
            scores = classifier.measure(listing)
            result[name] = {"accuracy": round(100 * scores.accuracy, 2), "f1": round(100 * scores.f1, 2)}
    run.write_text(RESULT, json.dumps(result, indent=2) + "\n")
    return result


def _image_tests(data: Any) -> dict[str, Listing]:
    return {
        name: list_images(files, Path(data.dir), f"data.tests.{name}") for name, files in data.tests.items()
    }


def _identity(recipe: Recipe[Settings]) -> str:
    """Return a hash of everything a result depends on: training and search settings, file contents."""
    values = recipe.values()
    hashed = {key: value for key, value in values.items() if key.startswith(("search.", "data.tests"))}
    data = {key: value for key, value in values.items() if key.startswith("data.")}
    hashed["files"] = [file_sha256(path) for path in _files(data, Path(recipe.data.dir))]
    digest = hashlib.sha256(json.dumps(hashed, sort_keys=True, default=str).encode()).hexdigest()
    return f"{recipe_hash(recipe)}-{recipe.training.steps}-{digest[:8]}"


def _files(value: Any, folder: Path) -> Iterator[Path]:
    """Yield the existing files named in settings."""
    if isinstance(value, str) and (folder / value).is_file():
        yield folder / value
    elif isinstance(value, Mapping):
        for key in sorted(value):
            yield from _files(value[key], folder)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _files(item, folder)


def _numbers(evaluation: Evaluation) -> dict[str, float]:
    numbers = {key: value for key, value in evaluation.to_dict().items() if isinstance(value, int | float)}
    test = evaluation.test_set
    for bucket in by_length(
        test.sources, evaluation.outputs, test.references, bounds=LENGTHS, lowercase=True
    ):
        words = f"{bucket.shortest}+" if bucket.longest is None else f"{bucket.shortest}-{bucket.longest}"
        numbers[f"bleu_lowercase_{words}"] = round(bucket.bleu.value, 2)
    return numbers


class _Observer:
    """Records model and epoch size; metrics.jsonl has the metrics."""

    def __init__(self) -> None:
        self.parameters, self.tokens_per_epoch = 0, 0

    def on_preparation(self, stage: str, done: int, total: int | None) -> None:
        pass

    def on_data(self, summary: Sequence[str], tokens_per_epoch: int) -> None:
        self.tokens_per_epoch = tokens_per_epoch

    def on_start(self, recipe: Recipe[Settings], model: nn.Module, device: torch.device, step: int) -> None:
        self.parameters = sum(parameter.numel() for parameter in model.parameters())

    def on_step(self, step: int) -> None:
        pass

    def on_log(self, event: dict[str, Any]) -> None:
        pass

    def on_validation(self, event: dict[str, Any], samples: str) -> None:
        pass

    def numbers(self, outcome: Outcome) -> dict[str, float]:
        progress = outcome.progress
        return {
            "parameters": self.parameters,
            "steps": progress.step,
            "minutes": round(progress.seconds / 60, 2),
            "seconds_an_epoch": round(self.tokens_per_epoch * progress.seconds / max(1, progress.tokens), 2),
            **{f"valid_{name}": round(value, 4) for name, value in (outcome.metrics or {}).items()},
        }


def main(arguments: list[str]) -> int:
    """Run a member; the arguments are its recipe file and its run folder."""
    file, folder = arguments
    try:
        result = run_member(recipes.load(file), Path(folder))
    except UserError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    return INTERRUPTED if result is None else DONE
