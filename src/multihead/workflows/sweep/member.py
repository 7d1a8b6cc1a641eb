"""One training of a sweep, in a process of its own: ``python -m multihead.workflows.sweep TOML RUN``.

Trains the recipe in the run folder, or goes on with it, and then measures on the recipe's test sets. The
result is ``result.json`` in the run folder. Exit codes are those of the command line.
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
from multihead.errors import UserError
from multihead.generation import Translator
from multihead.recipe import Recipe, recipe_hash
from multihead.run import Run
from multihead.scores import by_length
from multihead.settings import Settings
from multihead.training import Outcome
from multihead.workflows.evaluate import Evaluation, evaluate, test_sets
from multihead.workflows.train import train

RESULT = "result.json"
DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130
NOT_TESTS = ("recipe", "parameters", "steps", "minutes", "seconds_an_epoch")
"""What stands in a result beside its test sets."""
LENGTHS = (10, 20, 30)
"""Source words up to which BLEU is told apart."""


def result_of(recipe: Recipe[Settings], folder: Path) -> dict[str, Any] | None:
    """Return what was measured of this recipe in a run folder; None: nothing, or of other settings."""
    try:
        found: Any = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("recipe") == _identity(recipe) else None


def run_member(recipe: Recipe[Settings], folder: Path) -> dict[str, Any] | None:
    """Train, measure, write the result down and return it; None: interrupted.

    Raises:
        UserError: see ``workflows.train.train``.
    """
    observer = _Observer()
    measured = recipe.task == "translation" and recipe.data.tests
    # Read before anything trains: a file that is missing is told at once.
    tests = test_sets(recipe.data) if measured else []
    if taken := next((test.name for test in tests if test.name in NOT_TESTS), None):
        raise UserError(f'a test set cannot be called "{taken}" in a sweep', place="data.tests")
    outcome = train(recipe, folder, observer)
    if outcome.how == "interrupted":
        return None
    run = Run.open(folder)
    result = {"recipe": _identity(recipe), **observer.numbers(outcome)}
    if tests:
        translator = Translator.load(folder, device=recipe.training.device)
        for test in tests:
            result[test.name] = _numbers(evaluate(translator, test, recipe.search))
    run.write_text(RESULT, json.dumps(result, indent=2) + "\n")
    return result


def _identity(recipe: Recipe[Settings]) -> str:
    """What a result depends on: the training, the search, the files as they are now."""
    values = recipe.values()
    measured = {key: value for key, value in values.items() if key.startswith(("search.", "data.tests"))}
    data = {key: value for key, value in values.items() if key.startswith("data.")}
    measured["files"] = [file_sha256(path) for path in _files(data, Path(recipe.data.dir))]
    digest = hashlib.sha256(json.dumps(measured, sort_keys=True, default=str).encode()).hexdigest()
    return f"{recipe_hash(recipe)}-{recipe.training.steps}-{digest[:8]}"


def _files(value: Any, folder: Path) -> Iterator[Path]:
    """Yield the files that settings name."""
    if isinstance(value, str) and (folder / value).is_file():
        yield folder / value
    elif isinstance(value, Mapping):
        for key in sorted(value):
            yield from _files(value[key], folder)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _files(one, folder)


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
    """Says nothing (metrics.jsonl tells everything) and remembers the sizes."""

    def __init__(self) -> None:
        self.parameters, self.tokens_an_epoch = 0, 0

    def preparing(self, stage: str, done: int, total: int | None) -> None:
        pass

    def prepared(self, told: Sequence[str], tokens_an_epoch: int) -> None:
        self.tokens_an_epoch = tokens_an_epoch

    def begins(self, recipe: Recipe[Settings], model: nn.Module, device: torch.device, step: int) -> None:
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
            "seconds_an_epoch": round(self.tokens_an_epoch * progress.seconds / max(1, progress.tokens), 2),
            **{f"valid_{name}": round(value, 4) for name, value in (outcome.metrics or {}).items()},
        }


def main(arguments: list[str]) -> int:
    """Run the member that a recipe's file and a run folder name."""
    file, folder = arguments
    try:
        result = run_member(recipes.load(file), Path(folder))
    except UserError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    return INTERRUPTED if result is None else DONE
