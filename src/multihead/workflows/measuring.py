"""``multihead.evaluate`` and ``multihead.compare``: scores of trained translators."""

from pathlib import Path
from typing import Any, Unpack

from multihead import recipe as recipes
from multihead.inspect.page import HtmlPage
from multihead.inspect.report import RunComparison, compare_page
from multihead.inspect.report.compared_numbers import to_dict
from multihead.run import Run
from multihead.system import plugins
from multihead.system.hardware import Precision
from multihead.system.notebook import ResultTable
from multihead.tasks.translation import evaluate as measuring
from multihead.tasks.translation.compare import comparable_runs, compare_runs, requested_tests
from multihead.tasks.translation.evaluate import Evaluation, Way
from multihead.tasks.translation.text_methods import SearchKeys
from multihead.tasks.translation.without_effect import refuse_keys, refuse_other_methods
from multihead.workflows.loading import load


def evaluate(
    *runs: str | Path,
    source: str | Path | None = None,
    target: str | Path | None = None,
    device: str = "auto",
    precision: Precision = "auto",
    to: str | None = None,
    source_language: str | None = None,
    zero_shot: bool = False,
    model_file: str | Path | None = None,
    **search: Unpack[SearchKeys],
) -> dict[str, Evaluation]:
    """Translate test sets and score the outputs; several runs are scored together, as an ensemble.

    Args:
        runs: run folders of translators.
        source: source side of the test set; None: the test sets of the first run's recipe.
        target: target side of the test set; None: ``source`` contains both sides.
        device: cuda, mps, cpu or auto.
        precision: of matrix products, as in ``multihead evaluate --precision``.
        model_file: as in ``multihead.load``.
        to: target language of the files or test sets, for a model of several directions.
        source_language: source language, in the same way.
        zero_shot: allow a direction that was never trained.
        search: keys of [search] that override the first run's recipe.

    Returns:
        The results by name of the test set: ``bleu.value``, ``chrf.value``, ``outputs`` and others. A
        notebook displays them as a table.

    Raises:
        UserError: a run is missing or not a translator; there is no test set; a file cannot be read.
    """
    translator = load(*runs, device=device, precision=precision, model_file=model_file, task="translation")
    run = Run.open(runs[0])
    changes = {f"search.{key}": value for key, value in search.items()}
    recipe = recipes.load(run.folder / "recipe.toml", changes)
    refuse_keys(changes, ("search.n_best",), "in an evaluation, which scores the best output")
    refuse_other_methods(changes, recipe.search.method)
    named = to is not None or source_language is not None
    way = Way(source_language, to, zero_shot=zero_shot) if named else None
    sets = measuring.requested_test_sets(recipe.data, source, target, way=way)
    return ResultTable(
        {test.name: measuring.evaluate(translator, test, recipe.search, run=run) for test in sets}
    )


class ComparedRuns:
    """Comparison of several translators.

    Attributes:
        page: HTML report; ``page.save("report.html")`` writes it, and a notebook displays it.
        numbers: all scores, intervals and significance tests, ready for JSON.
    """

    def __init__(self, compared: RunComparison) -> None:
        self.page: HtmlPage = compare_page(compared)
        self.numbers: dict[str, Any] = to_dict(compared)

    def _repr_html_(self) -> str:
        return self.page._repr_html_()


def compare(
    *runs: str | Path,
    source: str | Path | None = None,
    target: str | Path | None = None,
    device: str = "auto",
    model_file: str | Path | None = None,
) -> ComparedRuns:
    """Translate the same test sets with several runs and compare their scores with those of the first.

    Args:
        runs: run folders of translators.
        source: source side of the test set; None: the test sets of the first run's recipe.
        target: target side of the test set; None: ``source`` contains both sides.
        device: cuda, mps, cpu or auto.
        model_file: as in ``multihead.load``.

    Raises:
        UserError: a run is missing, none is a translator, there is no test set, or a file cannot be read.
    """
    if model_file is not None:
        plugins.name_file(model_file)
    fit = comparable_runs([str(run) for run in runs])
    tests, notes = requested_tests(fit.folders, source, target)
    return ComparedRuns(compare_runs(fit.folders, tests, notes=[*fit.notes, *notes], device=device))
