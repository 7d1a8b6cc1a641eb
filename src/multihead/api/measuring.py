"""``multihead.evaluate`` and ``multihead.compare``: how good trained translators are."""

from pathlib import Path
from typing import Any

from multihead import recipe as recipes
from multihead.api.loading import load
from multihead.hardware import Precision
from multihead.inspect.page import Page
from multihead.inspect.report import Compared, compare_page
from multihead.run import Run
from multihead.workflows import evaluate as measuring
from multihead.workflows.compare import comparable_runs, compare_runs, requested_tests
from multihead.workflows.compared_numbers import to_dict
from multihead.workflows.evaluate import Evaluation, Way


def evaluate(
    *runs: str | Path,
    source: str | Path | None = None,
    target: str | Path | None = None,
    device: str = "auto",
    precision: Precision = "auto",
    to: str | None = None,
    source_language: str | None = None,
    zero_shot: bool = False,
    **search: object,
) -> dict[str, Evaluation]:
    """Translate test sets and score the outputs; several runs are measured together, as an ensemble.

    Args:
        runs: run folders of translators.
        source: source side of the test set; None: the test sets of the first run's recipe.
        target: its target side; None: ``source`` holds both.
        device: where to compute.
        precision: of matrix products, as in ``multihead evaluate --precision``.
        to: of a model of several directions: target language of the files or test sets.
        source_language: likewise.
        zero_shot: allow a direction that was never trained.
        search: keys of [search] that shall be other than in the first run's recipe.

    Returns:
        What was measured, by the name of the test set: ``bleu.value``, ``chrf.value``, ``outputs``, ...

    Raises:
        UserError: a run that is not there, or does not translate; no test set; files that cannot be read.
    """
    translator = load(*runs, device=device, precision=precision, task="translation")
    run = Run.open(runs[0])
    changes = {f"search.{key}": value for key, value in search.items()}
    recipe = recipes.load(run.folder / "recipe.toml", changes)
    named = to is not None or source_language is not None
    way = Way(source_language, to, zero_shot=zero_shot) if named else None
    sets = measuring.requested_test_sets(recipe.data, source, target, way=way)
    return {test.name: measuring.evaluate(translator, test, recipe.search, run=run) for test in sets}


class ComparedRuns:
    """Translators side by side.

    Attributes:
        page: as HTML; ``page.save("report.html")``, and a notebook shows it.
        numbers: all scores, intervals and tests of significance, for JSON.
    """

    def __init__(self, compared: Compared) -> None:
        self.page: Page = compare_page(compared)
        self.numbers: dict[str, Any] = to_dict(compared)

    def _repr_html_(self) -> str:
        return self.page._repr_html_()


def compare(
    *runs: str | Path,
    source: str | Path | None = None,
    target: str | Path | None = None,
    device: str = "auto",
) -> ComparedRuns:
    """Translate the same sentences with several runs; the first is what the others are compared with.

    Args:
        runs: run folders of translators.
        source: source side of the test set; None: the test sets of the first run's recipe.
        target: its target side; None: ``source`` holds both.
        device: where to compute.

    Raises:
        UserError: a run that is not there, none that translates; no test set; files that cannot be read.
    """
    fit = comparable_runs([str(run) for run in runs])
    tests, notes = requested_tests(fit.folders, source, target)
    return ComparedRuns(compare_runs(fit.folders, tests, notes=[*fit.notes, *notes], device=device))
