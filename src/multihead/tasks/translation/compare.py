"""Comparison of runs: scores, significance, examples and alignments for the comparison page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.inspect.maps import Alignment
from multihead.inspect.report import (
    RunComparison,
    RunFacts,
    RunScores,
    TestSetResults,
    TranslatedExample,
    facts,
)
from multihead.run import Run
from multihead.run.names import WEIGHTS
from multihead.scores import against_first, by_length, sentence_chrf
from multihead.system.progress import OnProgress
from multihead.tasks.translation.attention import inspect_sentence
from multihead.tasks.translation.evaluate import (
    Evaluation,
    TestSet,
    Way,
    direct,
    evaluate,
    requested_test_sets,
    test_sets,
)
from multihead.tasks.translation.lines import Translator

MAX_EXAMPLES, MAX_ALIGNED = 100, 3
"""Most sentences on the page, and most with alignments."""
MAX_ALIGNED_WORDS = 16
"""Source words up to which alignments fit side by side."""


@dataclass(frozen=True, slots=True)
class ComparableRuns:
    """The comparable runs, and the reasons for omitting others.

    Attributes:
        folders: run folders of trained translators, in the given order.
        notes: one sentence per omitted run.
    """

    folders: tuple[str, ...]
    notes: tuple[str, ...]


def comparable_runs(folders: Sequence[str]) -> ComparableRuns:
    """Return the folders that hold trained translators.

    Raises:
        UserError: a folder does not exist; none holds a trained translator; a folder is named twice.
    """
    twice = [folder for i, folder in enumerate(folders) if Path(folder) in map(Path, folders[:i])]
    if twice:
        raise UserError("named twice", place=twice[0], remedy="Name each run once.")
    comparable: list[str] = []
    notes: list[str] = []
    errors: list[UserError] = []
    for folder in folders:
        if not Path(folder).is_dir():
            Run.open(folder)  # raises
        try:
            run = Run.open(folder).fit_for("translation")
            if not (run.folder / WEIGHTS).is_file():
                raise UserError("this run has no trained model yet", place=folder)
        except UserError as error:
            errors.append(error)
            notes.append(f"Left out: {error}")
            continue
        comparable.append(folder)
    if not comparable:
        raise errors[0]
    return ComparableRuns(tuple(comparable), tuple(notes))


def shared_tests(
    folders: Sequence[str], given: Mapping[str, str] | None = None
) -> tuple[list[TestSet], list[str]]:
    """Return the test sets of the first run's recipe, and notes on runs with other test sets.

    Raises:
        UserError: the first run's recipe names no test sets, or their files are missing.
    """
    shared = test_sets(_recipe(folders[0], given).data)
    notes = []
    for folder in folders[1:]:
        try:
            tests = test_sets(_recipe(folder, given).data)
        except UserError as error:
            notes.append(f"{folder}: {error} It is evaluated on the test sets of {folders[0]}.")
            continue
        if [(t.sources, t.references) for t in tests] != [(t.sources, t.references) for t in shared]:
            names = ", ".join(test.name for test in tests)
            notes.append(
                f"{folder}: its recipe has other test sets ({names}). "
                f"It is evaluated on those of {folders[0]}."
            )
    return shared, notes


def requested_tests(
    folders: Sequence[str],
    source: str | Path | None,
    target: str | Path | None,
    given: Mapping[str, str] | None = None,
) -> tuple[list[TestSet], list[str]]:
    """Return the test set in the given files, or the first run's test sets; and notes on other runs.

    Args:
        folders: run folders of trained translators.
        source: source file, or a file with both sides if ``target`` is None; None: see :func:`shared_tests`.
        target: target file.
        given: recipe overrides for reading the files.

    Raises:
        UserError: a target without a source; a file that cannot be read; the first run names no test sets.
    """
    if source is None and target is None:
        return shared_tests(folders, given)
    return requested_test_sets(_recipe(folders[0], given).data, source, target), []


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
    """Translate the test sets with every run, score the outputs, and collect the content of the page.

    Args:
        folders: run folders of trained translators, see :func:`comparable_runs`; the first is the baseline.
        tests: test sets for all runs.
        given: recipe overrides for all runs (``{"search.beam_size": "4"}``).
        notes: notes for the page.
        device: device to translate on.
        progress: called with the progress.

    Raises:
        UserError: see ``evaluate`` and ``Translator.load``.
    """
    evaluations: list[list[Evaluation]] = []
    runs: list[RunFacts] = []
    languages: list[tuple[str, str]] = []
    notes = list(notes)
    for folder in folders:
        recipe, translator = _recipe(folder, given), Translator.load(folder, device=device)
        size = sum(parameter.numel() for parameter in translator.models[0].parameters())
        runs.append(facts(Run.open(folder), folder, size))
        languages.append((recipe.data.source_language, recipe.data.target_language))
        evaluations.append([_evaluate(translator, test, recipe.search, folder, progress) for test in tests])
    notes += _cautions(folders, languages, evaluations)
    on_tests = [_on_test(test, [row[number] for row in evaluations]) for number, test in enumerate(tests)]
    return RunComparison(
        runs, _with_alignments(folders, on_tests, [test.way for test in tests], device), notes
    )


def _evaluate(
    translator: Translator, test: TestSet, search: Any, folder: str, progress: OnProgress | None
) -> Evaluation:
    stage = f"{folder} on {test.name}"

    def on_lines(done: int, total: int | None) -> None:
        if progress:
            progress(stage, done, total)

    return evaluate(translator, test, search, run=Run.open(folder), progress=on_lines)


def _cautions(
    folders: Sequence[str], languages: Sequence[tuple[str, str]], by_run: Sequence[Sequence[Evaluation]]
) -> list[str]:
    """Warn about different languages, test sentences in the training data, and untranslated lines."""
    cautions = [
        f"The scores are not comparable: {folder} translates from {pair[0]} to {pair[1]}, {folders[0]} from "
        f"{languages[0][0]} to {languages[0][1]}."
        for folder, pair in zip(folders, languages, strict=True)
        if all(pair) and all(languages[0]) and pair != languages[0]
    ]
    for folder, evaluations in zip(folders, by_run, strict=True):
        for evaluation in evaluations:
            if evaluation.contaminated:
                share = f"{evaluation.contaminated:,} of the {len(evaluation.outputs):,} sentences"
                cautions.append(f"{folder} was trained on {share} of {evaluation.test_set.name}.")
            if notes := evaluation.notes:
                cautions.append(f"{folder}: {len(notes):,} lines were cut or not translated ({notes[0]}).")
    return cautions


def _on_test(test: TestSet, evaluations: Sequence[Evaluation]) -> TestSetResults:
    outputs = [evaluation.outputs for evaluation in evaluations]
    cased = against_first(outputs, test.references)
    lowercase = against_first(outputs, test.references, lowercase=True)
    limits = bounds(test.sources)
    measured = [
        RunScores(
            perplexity=evaluation.perplexity,
            perplexity_character=evaluation.perplexity_character,
            cased=cased[i],
            lowercase=lowercase[i],
            by_length=by_length(test.sources, evaluation.outputs, test.references, bounds=limits),
            sentences_per_second=evaluation.sentences_per_second,
        )
        for i, evaluation in enumerate(evaluations)
    ]
    examples = _examples(test, outputs)
    return TestSetResults(
        test.name, len(test.sources), measured, examples[:MAX_EXAMPLES], _to_align(examples)
    )


def bounds(sources: Sequence[str]) -> tuple[int, ...]:
    """Return bucket bounds (source words) for BLEU by length: a handful of buckets of equal width."""
    lengths = [len(source.split()) for source in sources]
    long = float(np.quantile(lengths, 0.97))
    step = next((step for step in (2, 5, 10, 20, 50) if long <= 7 * step), 100)
    return tuple(range(step, max(step, math.floor(long)) + 1, step))


def _examples(test: TestSet, outputs: Sequence[Sequence[str]]) -> list[TranslatedExample]:
    chrf = [sentence_chrf(texts, test.references) for texts in outputs]
    examples = [
        TranslatedExample(i + 1, source, reference, [texts[i] for texts in outputs], [row[i] for row in chrf])
        for i, (source, reference) in enumerate(zip(test.sources, test.references, strict=True))
    ]
    return sorted(examples, key=lambda example: -example.spread)


def _to_align(examples: Sequence[TranslatedExample]) -> list[TranslatedExample]:
    """Return a few examples of medium length on which the runs differ most."""
    short = [example for example in examples if 1 <= len(example.source.split()) <= MAX_ALIGNED_WORDS]
    medium = [example for example in short if len(example.source.split()) >= 5 and all(example.outputs)]
    return (medium or short)[:MAX_ALIGNED]


def _with_alignments(
    folders: Sequence[str], tests: Sequence[TestSetResults], ways: Sequence[Way | None], device: str
) -> list[TestSetResults]:
    translators = [Translator.load(folder, device=device) for folder in folders]
    return [
        replace(test, aligned=[_align(translators, way, example) for example in test.aligned])
        for test, way in zip(tests, ways, strict=True)
    ]


def _align(
    translators: Sequence[Translator], way: Way | None, example: TranslatedExample
) -> TranslatedExample:
    maps = [
        alignment(direct(translator, way), example.source, output)
        for translator, output in zip(translators, example.outputs, strict=True)
    ]
    return replace(example, alignments=maps)


def alignment(translator: Translator, source: str, output: str, *, words: bool = True) -> Alignment | None:
    """Return the attention alignment of an output, of words or of pieces; None if the model has none."""
    try:
        return inspect_sentence(translator, source, output, words=words)
    except UserError:
        return None
