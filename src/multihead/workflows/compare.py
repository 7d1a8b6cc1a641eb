"""Runs side by side: from run folders to what the page of a comparison tells."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from multihead import recipe as recipes
from multihead.attention_maps import Alignment
from multihead.errors import UserError
from multihead.generation import Translator
from multihead.inspect import inspect_sentence
from multihead.inspect.report import Example, RunComparison, RunFacts, RunScores, TestSetResults, facts
from multihead.progress import OnProgress
from multihead.run import Run
from multihead.run.folder import WEIGHTS
from multihead.scores import against_first, by_length, sentence_chrf
from multihead.workflows.evaluate import Evaluation, TestSet, chosen_sets, evaluate, test_sets

MOST_EXAMPLES, ALIGNED = 100, 3
"""Sentences that the page holds, and those of them whose alignments are shown."""
LONGEST_ALIGNED = 16
"""Words of a source that is small enough for its alignments to stand side by side."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """The runs that can be compared, and why others cannot.

    Attributes:
        folders: of trained translators, in the order in which they were named.
        notes: what does not fit, a sentence each.
    """

    folders: tuple[str, ...]
    notes: tuple[str, ...]


def fitting(folders: Sequence[str]) -> Fitting:
    """Return which of the named folders hold trained translators.

    Raises:
        UserError: a folder that is not there; none that fits; the same one twice.
    """
    twice = [folder for i, folder in enumerate(folders) if Path(folder) in map(Path, folders[:i])]
    if twice:
        raise UserError("named twice", place=twice[0], remedy="Name each run once.")
    fit: list[str] = []
    notes: list[str] = []
    faults: list[UserError] = []
    for folder in folders:
        if not Path(folder).is_dir():
            Run.open(folder)  # refuses it
        try:
            run = Run.open(folder).fit_for("translation")
            if not (run.folder / WEIGHTS).is_file():
                raise UserError("this run has no trained model yet", place=folder)
        except UserError as error:
            faults.append(error)
            notes.append(f"Left out: {error}")
            continue
        fit.append(folder)
    if not fit:
        raise faults[0]
    return Fitting(tuple(fit), tuple(notes))


def shared_tests(
    folders: Sequence[str], given: Mapping[str, str] | None = None
) -> tuple[list[TestSet], list[str]]:
    """Return the test sets of the first run's recipe, and notes on runs whose own are others.

    Raises:
        UserError: the first run names none, or its files are gone.
    """
    chosen = test_sets(_recipe(folders[0], given).data)
    notes = []
    for folder in folders[1:]:
        try:
            own = test_sets(_recipe(folder, given).data)
        except UserError as error:
            notes.append(f"{folder}: {error} It is measured on the test sets of {folders[0]}.")
            continue
        if [(t.sources, t.references) for t in own] != [(t.sources, t.references) for t in chosen]:
            names = ", ".join(test.name for test in own)
            notes.append(
                f"{folder} has other test sets in its recipe ({names}) than {folders[0]}, "
                "on whose it is measured here."
            )
    return chosen, notes


def chosen_tests(
    folders: Sequence[str],
    source: str | Path | None,
    target: str | Path | None,
    given: Mapping[str, str] | None = None,
) -> tuple[list[TestSet], list[str]]:
    """Return the test set in files that are named, else those of the first run; and notes on them.

    Args:
        folders: of trained translators.
        source: its source side; with ``target`` None a file with both; None: see :func:`shared_tests`.
        target: its target side.
        given: keys of a recipe that say how files are read.

    Raises:
        UserError: a target alone; files that cannot be read; the first run names none.
    """
    if source is None and target is None:
        return shared_tests(folders, given)
    return chosen_sets(_recipe(folders[0], given).data, source, target), []


def _recipe(folder: str, given: Mapping[str, str] | None = None) -> Any:
    return recipes.load(Path(folder) / "recipe.toml", given)


def compare_runs(
    folders: Sequence[str],
    tests: Sequence[TestSet],
    *,
    given: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    device: str = "auto",
    progress: OnProgress | None = None,
) -> RunComparison:
    """Translate the test sets with every run, score the outputs, and put together what the page tells.

    Args:
        folders: of trained translators, see :func:`fitting`; the first is what the others are compared with.
        tests: the same for all.
        given: keys of recipes that hold for all (``{"search.beam_size": "4"}``).
        notes: what does not fit.
        device: where to translate.
        progress: is told how far it has come.

    Raises:
        UserError: as ``evaluate`` and ``Translator.load``.
    """
    found: list[list[Evaluation]] = []
    runs: list[RunFacts] = []
    languages: list[tuple[str, str]] = []
    notes = list(notes)
    for folder in folders:
        recipe, translator = _recipe(folder, given), Translator.load(folder, device=device)
        size = sum(parameter.numel() for parameter in translator.models[0].parameters())
        runs.append(facts(Run.open(folder), folder, size))
        languages.append((recipe.data.source_language, recipe.data.target_language))
        found.append([_evaluated(translator, test, recipe.search, folder, progress) for test in tests])
    notes += _doubts(folders, languages, found)
    on_tests = []
    for number, test in enumerate(tests):
        evaluations = [one[number] for one in found]
        on_tests.append(_on_test(test, evaluations))
    return RunComparison(runs, _with_alignments(folders, on_tests, device), notes)


def _evaluated(
    translator: Translator, test: TestSet, search: Any, folder: str, progress: OnProgress | None
) -> Evaluation:
    what = f"{folder} on {test.name}"

    def done(lines: int, total: int | None) -> None:
        if progress:
            progress(what, lines, total)

    return evaluate(translator, test, search, run=Run.open(folder), progress=done)


def _doubts(
    folders: Sequence[str], languages: Sequence[tuple[str, str]], found: Sequence[Sequence[Evaluation]]
) -> list[str]:
    """Return what makes a comparison doubtful: other languages, test sentences that were trained on."""
    told = [
        f"{folder} translates from {pair[0]} to {pair[1]}, and {folders[0]} from {languages[0][0]} to "
        f"{languages[0][1]}: they should not be compared."
        for folder, pair in zip(folders, languages, strict=True)
        if all(pair) and all(languages[0]) and pair != languages[0]
    ]
    for folder, evaluations in zip(folders, found, strict=True):
        for one in evaluations:
            if one.contaminated:
                name = one.test_set.name
                told.append(
                    f"{folder} was trained on {one.contaminated:,} of the {len(one.outputs):,} sentences of "
                    f"{name}."
                )
            if one.notes:
                told.append(
                    f"{folder}: {len(one.notes):,} lines were cut or not translated ({one.notes[0]})."
                )
    return told


def _on_test(test: TestSet, evaluations: Sequence[Evaluation]) -> TestSetResults:
    outputs = [one.outputs for one in evaluations]
    cased = against_first(outputs, test.references)
    lowercase = against_first(outputs, test.references, lowercase=True)
    limits = bounds(test.sources)
    measured = [
        RunScores(
            perplexity=one.perplexity,
            perplexity_character=one.perplexity_character,
            cased=cased[i],
            lowercase=lowercase[i],
            by_length=by_length(test.sources, one.outputs, test.references, bounds=limits),
            sentences_per_second=one.sentences_per_second,
        )
        for i, one in enumerate(evaluations)
    ]
    examples = _examples(test, outputs)
    return TestSetResults(
        test.name, len(test.sources), measured, examples[:MOST_EXAMPLES], _to_align(examples)
    )


def bounds(sources: Sequence[str]) -> tuple[int, ...]:
    """Return lengths (words) between which BLEU is told: so coarse that there are a handful of buckets."""
    lengths = [len(source.split()) for source in sources]
    long = float(np.quantile(lengths, 0.97))
    step = next((step for step in (2, 5, 10, 20, 50) if long <= 7 * step), 100)
    return tuple(range(step, max(step, math.floor(long)) + 1, step))


def _examples(test: TestSet, outputs: Sequence[Sequence[str]]) -> list[Example]:
    chrf = [sentence_chrf(one, test.references) for one in outputs]
    examples = [
        Example(i + 1, source, reference, [one[i] for one in outputs], [one[i] for one in chrf])
        for i, (source, reference) in enumerate(zip(test.sources, test.references, strict=True))
    ]
    return sorted(examples, key=lambda one: -one.spread)


def _to_align(examples: Sequence[Example]) -> list[Example]:
    """Return a few whose maps are neither tiny nor huge, where the runs differ most."""
    fit = [one for one in examples if 5 <= len(one.source.split()) <= LONGEST_ALIGNED and all(one.outputs)]
    rest = [one for one in examples if one.source.split() and len(one.source.split()) <= LONGEST_ALIGNED]
    return (fit or rest)[:ALIGNED]


def _with_alignments(
    folders: Sequence[str], tests: Sequence[TestSetResults], device: str
) -> list[TestSetResults]:
    translators = [Translator.load(folder, device=device) for folder in folders]
    return [
        TestSetResults(
            test.name,
            test.pairs,
            test.runs,
            test.examples,
            [_aligned(translators, one) for one in test.aligned],
        )
        for test in tests
    ]


def _aligned(translators: Sequence[Translator], one: Example) -> Example:
    maps = [
        alignment(translator, one.source, output)
        for translator, output in zip(translators, one.outputs, strict=True)
    ]
    return Example(one.number, one.source, one.reference, one.outputs, one.chrf, maps)


def alignment(translator: Translator, source: str, output: str) -> Alignment | None:
    """Return where a model looks while it writes an output, by words; None where it has no attention."""
    try:
        return inspect_sentence(translator, source, output, words=True)
    except UserError:
        return None
