"""Evaluate models on test sets: BLEU, perplexity, accuracy.

    multihead evaluate runs/de-en
    multihead evaluate runs/de-en --src test.de --tgt test.en --json
    multihead evaluate runs/de-en runs/de-en-large
    multihead evaluate runs/one runs/two --ensemble
    multihead evaluate runs/many --to fr
    multihead evaluate runs/shapes --json
    multihead evaluate runs/gpt --src text.txt

Also language models, masked ones too, classifiers of texts and images,
taggers, models of answers, object detectors and models of sets: perplexity,
accuracy, F1, exact match, or COCO's average precision. --src names a text, a
TSV or CoNLL file, a folder in COCO's format (or its JSON file, with the folder
of the images as --tgt), or labelled images. The default test sets are those of
the run's recipe. Several runs are evaluated one after the other; two
translators are compared, with a test of significance (paired bootstrap).
--ensemble evaluates all as one system, as `multihead translate` uses them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Literal

from rich.console import Console

from multihead import recipe as recipes
from multihead.cli import _console, _directions, _evaluate_tasks, _options
from multihead.cli._counting import progress_bar
from multihead.cli._direction_table import show_directions
from multihead.cli._effect import FILE_READING, SEARCH_OF_THE_BEST, refuse_options
from multihead.cli._searching import Precision
from multihead.errors import UserError
from multihead.recipe import tasks
from multihead.run import Run
from multihead.scores import Comparison
from multihead.system import hardware
from multihead.tasks.translation.evaluate import (
    Evaluation,
    TestSet,
    Way,
    compare,
    evaluate,
    named_sources,
    perturb_sources,
    requested_test_sets,
)
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.texts.calibration import fit
from multihead.tasks.translation.texts.confidence import NAME
from multihead.tasks.translation.without_effect import (
    refuse_fields,
    refuse_keys,
    refuse_other_methods,
    without_effect,
)
from multihead.text.published import tokeniser

LONGEST_N_GRAM = 4
"""Words of the longest n-grams that BLEU counts."""
USED = {
    "search": SEARCH_OF_THE_BEST,
    "data": ("dir", "tests", "corpora", "corpus", *FILE_READING, "target_language"),
}
"""Keys of a recipe that have an effect here."""


@dataclass(frozen=True)
class Options:
    """Options of the command besides recipe keys."""

    runs: _options.RunFolders
    """A run folder, two to compare, or the members of an ensemble."""
    ensemble: _options.Flag = False
    """Evaluate all runs as one system, with the recipe of the first."""
    src: _options.File = None
    """Source side of the test set, or a TSV, CSV or JSONL file with both sides."""
    tgt: _options.File = None
    """Target side of the test set."""
    to: _directions.To = None
    """Target language of the files, or of the test sets to evaluate. [all directions]"""
    of: _directions.From = None
    """Source language of the files, or of the test sets to evaluate."""
    tags: _directions.Tags = ()
    """Domain tags of the files, for a model trained with them."""
    zero_shot: _directions.ZeroShot = False
    """Allow a direction that was never trained."""
    calibrate: _options.Flag = False
    """Fit the confidence of the run's translations to these test sets, and store it in the run."""
    json: _options.Flag = False
    """Print JSON."""
    tokenise: Annotated[str | None, _options.Option(metavar="RULES")] = None
    """Also compute lower-cased BLEU on tokens of spacy or moses, as many published results do."""
    perturb: Literal["trim", "omit", "permute", "none"] = "none"
    """Also evaluate on perturbed sources: trim cuts off the end, omit drops words, permute reorders words."""
    rate: float = 0.2
    """Strength of the perturbation, 0 to 1: share cut off, probability of dropping, or range of moves."""
    device: _options.Device = "auto"
    precision: Precision = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, given = _options.read_with_keys(
        Options, arguments, sections=("search", "data"), short="search", used=USED
    )
    found_tasks = sorted({Run.open(folder).task for folder in options.runs})
    if len(found_tasks) > 1:
        fact = f"models for {' and '.join(tasks.get_task(name).work for name in found_tasks)}"
        raise UserError(fact, place=", ".join(options.runs), remedy="Evaluate each by a command of its own.")
    if tasks.get_task(found_tasks[0]).evaluate:
        return _evaluate_other(options, given, found_tasks[0])
    _refuse_without_effect(options, given)
    sets: list[TestSet] = []
    found: dict[str, list[Evaluation]] = {}
    lowercase = False
    for name, folders in _systems(options).items():
        run = Run.open(folders[0]).fit_for("translation")
        recipe = recipes.load(run.folder / "recipe.toml", given)
        lowercase |= recipe.data.lowercase
        refuse_other_methods(given, recipe.search.method)
        refuse_fields(given, recipe.data, named_sources(recipe.data, options.src))
        if not sets:
            requested = requested_test_sets(recipe.data, options.src, options.tgt, way=_way(options))
            sets = _with_perturbed(options, requested)
        language = recipe.data.target_language or "en"
        tokenise = tokeniser(options.tokenise, language) if options.tokenise else None
        hardware.keep_memory()
        translator = Translator.load(*folders, device=options.device, precision=options.precision)
        with progress_bar(f"translating with {name}") as progress:
            found[name] = [
                evaluate(translator, test, recipe.search, run=run, tokenise=tokenise, progress=progress)
                for test in sets
            ]
    if options.calibrate:
        _calibrate(options, next(iter(found.values())))
    console, comparison = _console.output(), _compare(found, lowercase=lowercase)
    if options.json:
        console.print(_json(found, comparison), end="")
    else:
        _show(found, console)
        for test, comparisons in comparison.items():
            one, other = found
            console.print(f"{test}: {other} versus {one}{', lower-cased' if lowercase else ''}")
            for metric, compared in comparisons.items():
                console.print(f"  {metric:6}{_difference(compared)}")
    for evaluation in (evaluation for evaluations in found.values() for evaluation in evaluations):
        for note in evaluation.notes[: _console.MAX_NOTES]:
            _console.messages().print(note)
        if more := len(evaluation.notes[_console.MAX_NOTES :]):
            _console.messages().print(
                f"{evaluation.test_set.name}: {more:,} more lines were truncated or not translated"
            )
    return 0


def _evaluate_other(options: Options, given: Mapping[str, str], task: str) -> int:
    """Evaluate a model that does not translate."""
    reason = f"on models for {tasks.get_task(task).work}"
    own = ("runs", "src", "tgt", "json", "device")
    refuse_options(options, [field.name for field in fields(options) if field.name not in own], reason)
    for key in given:
        raise without_effect(f"--{key}", reason)
    files = tuple(filter(None, (options.src, options.tgt)))
    return _evaluate_tasks.run(options.runs, files, json_=options.json, device=options.device)


def _refuse_without_effect(options: Options, given: Mapping[str, str]) -> None:
    """Refuse options and keys that would have no effect."""
    if options.src:
        refuse_keys(given, ("data.dir", "data.tests"), "on files that --src names")
    if options.calibrate and len(options.runs) > 1:
        remedy = "Name one run."
        raise UserError("confidence is calibrated for one run", place="--calibrate", remedy=remedy)
    if options.perturb == "none":
        refuse_options(options, ("rate",), "without --perturb")
    if not options.tokenise:
        refuse_keys(given, ("data.target_language",), "without --tokenise")


def _calibrate(options: Options, evaluations: Sequence[Evaluation]) -> None:
    """Store the calibration of a run's confidence, fitted to its evaluations."""
    scores = [pair for evaluation in evaluations for pair in evaluation.raw_scores]
    run = Run.open(options.runs[0])
    tests = [evaluation.test_set for evaluation in evaluations]
    pairs = [pair for test in tests for pair in zip(test.sources, test.references, strict=True)]
    calibration = fit([mean for mean, _ in scores], [quality for _, quality in scores], pairs)
    run.write_further(NAME, calibration.to_json())
    fact = f"fitted to {calibration.pairs:,} pairs; expected calibration error {calibration.error:.3f}"
    _console.messages().print(f"{options.runs[0]}/{NAME}: {fact}, by cross-validation")


def _systems(options: Options) -> dict[str, Sequence[str]]:
    """Return the run folders of each system to evaluate, by name."""
    if options.ensemble and options.runs:
        return {" + ".join(options.runs): options.runs}
    if not 1 <= len(options.runs) <= 2:
        remedy = "Give one, two to compare, or add --ensemble to evaluate all as one system."
        raise UserError(f"{len(options.runs)} runs were given", remedy=remedy)
    if len({*options.runs}) < len(options.runs):
        raise UserError(
            "the same run was given twice", place=options.runs[0], remedy="Compare it with another run."
        )
    return {folder: [folder] for folder in options.runs}


def _way(options: Options) -> Way | None:
    """Return the requested direction, or None."""
    if options.to is None and options.of is None and not options.tags:
        return None
    return Way(options.of, options.to, options.tags, options.zero_shot)


def _with_perturbed(options: Options, sets: list[TestSet]) -> list[TestSet]:
    """Return the test sets, each followed by its perturbed copy if ``--perturb`` is given."""
    if options.perturb == "none":
        return sets
    if not 0 <= options.rate <= 1:
        raise UserError(f"--rate {options.rate:g}", remedy="Give a number from 0 to 1.")
    return [one for test in sets for one in (test, perturb_sources(test, options.perturb, options.rate))]


def _compare(
    found: Mapping[str, Sequence[Evaluation]], *, lowercase: bool
) -> dict[str, Mapping[str, Comparison]]:
    """Return the comparison of two runs on each test set; empty for a single run.

    Args:
        found: the evaluations of each run.
        lowercase: compare lower-cased outputs, for runs of which one was trained on lower-cased text.
    """
    if len(found) < 2:
        return {}
    one, other = found.values()
    return {a.test_set.name: compare(a, b, lowercase=lowercase) for a, b in zip(one, other, strict=True)}


def _json(
    found: Mapping[str, Sequence[Evaluation]], comparison: Mapping[str, Mapping[str, Comparison]]
) -> str:
    runs = {run: {e.test_set.name: e.to_dict() for e in evaluations} for run, evaluations in found.items()}
    compared = {
        test: {metric: asdict(comparison) for metric, comparison in comparisons.items()}
        for test, comparisons in comparison.items()
    }
    content = {"runs": runs, "comparison": compared} if compared else next(iter(runs.values()))
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _show(found: Mapping[str, Sequence[Evaluation]], console: Console) -> None:
    for run, evaluations in found.items():
        if len(evaluations) > 1 and all(evaluation.test_set.way for evaluation in evaluations):
            show_directions(run, evaluations, console)
            continue
        for evaluation in evaluations:
            show(run, evaluation, console)
        _show_losses(run, evaluations, console)


def _show_losses(run: str, evaluations: Sequence[Evaluation], console: Console) -> None:
    """Print the change of BLEU on perturbed sources."""
    by_name = {evaluation.test_set.name: evaluation for evaluation in evaluations}
    for name, after in by_name.items():
        before = by_name.get(name.rpartition(", ")[0])
        if before:
            one, other = before.bleu.value, after.bleu.value
            console.print(f"{run} on {name}: BLEU {one:.2f} -> {other:.2f} ({other - one:+.2f})")


def show(run: str, evaluation: Evaluation, console: Console) -> None:
    """Print the results on a test set."""
    e = evaluation
    scores = {"BLEU": e.bleu, "BLEU, lower-cased": e.bleu_lowercase, "chrF2": e.chrf}
    if e.bleu_tokenised_lowercase:
        scores["BLEU, tokenised"] = e.bleu_tokenised_lowercase
    others = {
        "exact match": f"{100 * e.exact:.2f} %",
        "word error rate": f"{e.wer:.2f} %",
        "character error rate": f"{e.cer:.2f} %",
        "perplexity": f"{e.perplexity:.3f} per token; {e.perplexity_character:.4f} per character",
        "speed": f"{e.sentences_per_second:,.1f} sentences/s",
    }
    if e.confidence_error is not None:
        others["confidence"] = f"expected calibration error {e.confidence_error:.3f}"
    width = max(map(len, [*scores, *others]))
    console.print(f"{run} on {e.test_set.name}: {len(e.outputs):,} pairs")
    for name, score in scores.items():
        console.print(f"  {name:{width}}  {score.value:.2f}")
        # On a line of its own, so that it can be quoted whatever the width of the terminal.
        console.print(f"    {score.signature}")
    for name, value in others.items():
        console.print(f"  {name:{width}}  {value}")
    if all(len(reference.split()) < LONGEST_N_GRAM for reference in e.test_set.references):
        console.print("  BLEU counts up to four words in a row, and no reference has four: see the others")
    if e.contaminated:
        console.print(
            f"  caution: {e.contaminated:,} of these sentences occur in the training data", style="yellow"
        )
    console.print()


def _difference(comparison: Comparison) -> str:
    one, other = comparison.baseline, comparison.system
    verdict = "significant" if comparison.significant else "not significant"
    return (
        f"{other.score - one.score:+.2f}  ({one.score:.2f} ± {one.half_width:.2f} -> "
        f"{other.score:.2f} ± {other.half_width:.2f}; p = {comparison.p_value:.3f}: {verdict})"
    )
