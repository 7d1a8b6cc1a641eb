"""Measure a trained run: BLEU, chrF, perplexity, speed.

    multihead evaluate runs/de-en
    multihead evaluate runs/de-en --src test.de --tgt test.en --json
    multihead evaluate runs/de-en runs/de-en-large
    multihead evaluate runs/one runs/two --ensemble
    multihead evaluate runs/many --to fr

Without files the test sets of the run's recipe. Of two runs it is told whether
they differ by more than chance (paired bootstrap), or with --ensemble what they
come to together, as `multihead translate` takes them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from rich.console import Console

from multihead import hardware
from multihead import recipe as recipes
from multihead.cli import _console, _directions, _options
from multihead.cli._counting import counted
from multihead.cli._direction_table import show_directions
from multihead.cli._searching import Precision
from multihead.errors import UserError
from multihead.generation import Translator
from multihead.run import Run
from multihead.scores import Comparison
from multihead.text.published import tokeniser
from multihead.workflows.evaluate import (
    Evaluation,
    TestSet,
    Way,
    compare,
    evaluate,
    perturbed,
    requested_test_sets,
)


@dataclass(frozen=True)
class Options:
    """What can be said besides keys of a recipe."""

    runs: _options.RunFolders
    """Run folder; or two, to be compared; or the members of an ensemble."""
    ensemble: _options.Flag = False
    """Measure all runs together, as one system; the first one's recipe holds."""
    src: _options.File = None
    """Source side of the test set; or a TSV / JSONL file with both sides."""
    tgt: _options.File = None
    """Target side of the test set."""
    to: _directions.To = None
    """Target language: of the files, or of the test sets to be measured. [all directions]"""
    of: _directions.From = None
    """Source language, likewise."""
    tags: _directions.Tags = ()
    """Domains of the files."""
    zero_shot: _directions.ZeroShot = False
    """Allow a direction that was never trained."""
    json: _options.Flag = False
    """Print JSON."""
    tokenise: _options.Text = None
    """Also lower-cased BLEU on words cut by these rules, spacy or moses, as published figures are given."""
    perturb: Literal["trim", "omit", "permute", "none"] = "none"
    """Measure also on sources made worse: the end cut, words left out, words in another order."""
    rate: float = 0.2
    """How much worse, from 0 to 1: the part cut, a word's chance to go, how far a word may move."""
    device: _options.Device = "auto"
    precision: Precision = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, given = _options.read_with_keys(Options, arguments, sections=("search", "data"), short="search")
    sets: list[TestSet] = []
    found: dict[str, list[Evaluation]] = {}
    lowercase = False
    for name, folders in _systems(options).items():
        run = Run.open(folders[0]).fit_for("translation")
        recipe = recipes.load(run.folder / "recipe.toml", given)
        lowercase |= recipe.data.lowercase
        way = _way(options)
        sets = sets or _with_worse(
            options, requested_test_sets(recipe.data, options.src, options.tgt, way=way)
        )
        cut = tokeniser(options.tokenise, recipe.data.target_language or "en") if options.tokenise else None
        hardware.keep_memory()
        translator = Translator.load(*folders, device=options.device, precision=options.precision)
        with counted(f"translating with {name}") as progress:
            found[name] = [
                evaluate(translator, test, recipe.search, run=run, tokenise=cut, progress=progress)
                for test in sets
            ]
    console, comparison = _console.output(), _compared(found, lowercase=lowercase)
    if options.json:
        console.print(_json(found, comparison), end="")
    else:
        _show(found, console)
        for test, comparisons in comparison.items():
            one, other = found
            console.print(f"{test}: {other} against {one}{', lower-cased' if lowercase else ''}")
            for metric, compared in comparisons.items():
                console.print(f"  {metric:6}{_verdict(compared)}")
    for evaluation in (evaluation for evaluations in found.values() for evaluation in evaluations):
        for note in evaluation.notes[: _console.NOTES]:
            _console.messages().print(note)
        if more := len(evaluation.notes[_console.NOTES :]):
            told = f"{evaluation.test_set.name}: {more:,} more lines were cut or not translated"
            _console.messages().print(told)
    return 0


def _systems(options: Options) -> dict[str, Sequence[str]]:
    """Return what is to be measured: the run folders of each system, by its name."""
    if options.ensemble and options.runs:
        return {" + ".join(options.runs): options.runs}
    if not 1 <= len(options.runs) <= 2:
        remedy = "Name one, or two to be compared, or measure them together: --ensemble."
        raise UserError(f"{len(options.runs)} runs are named", remedy=remedy)
    if len({*options.runs}) < len(options.runs):
        raise UserError("named twice", place=options.runs[0], remedy="Name another run to compare it with.")
    return {folder: [folder] for folder in options.runs}


def _way(options: Options) -> Way | None:
    """Return the direction that is asked for, None if none is."""
    if options.to is None and options.of is None and not options.tags:
        return None
    return Way(options.of, options.to, options.tags, options.zero_shot)


def _with_worse(options: Options, sets: list[TestSet]) -> list[TestSet]:
    """Return the test sets, each followed by itself made worse, if that is asked for."""
    if options.perturb == "none":
        return sets
    if not 0 <= options.rate <= 1:
        raise UserError(f"--rate {options.rate:g}", remedy="A rate lies between 0 and 1.")
    return [one for test in sets for one in (test, perturbed(test, options.perturb, options.rate))]


def _compared(
    found: Mapping[str, Sequence[Evaluation]], *, lowercase: bool
) -> dict[str, Mapping[str, Comparison]]:
    """Return the comparison on each test set, none where there is but one run.

    Where one of the runs writes no capital letters, they are compared without.
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
    told = {"runs": runs, "comparison": compared} if compared else next(iter(runs.values()))
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _show(found: Mapping[str, Sequence[Evaluation]], console: Console) -> None:
    for run, evaluations in found.items():
        if len(evaluations) > 1 and all(evaluation.test_set.way for evaluation in evaluations):
            show_directions(run, evaluations, console)
            continue
        for evaluation in evaluations:
            show(run, evaluation, console)
        _show_losses(run, evaluations, console)


def _show_losses(run: str, evaluations: Sequence[Evaluation], console: Console) -> None:
    """Print what BLEU falls to on sources made worse."""
    by_name = {evaluation.test_set.name: evaluation for evaluation in evaluations}
    for name, worse in by_name.items():
        before = by_name.get(name.rpartition(", ")[0])
        if before:
            fall = worse.bleu.value - before.bleu.value
            console.print(
                f"{run} on {name}: BLEU {before.bleu.value:.2f} -> {worse.bleu.value:.2f} ({fall:+.2f})"
            )


def show(run: str, evaluation: Evaluation, console: Console) -> None:
    """Print what was measured on a test set."""
    e = evaluation
    scores = {"BLEU": e.bleu, "BLEU, lower-cased": e.bleu_lowercase, "chrF2": e.chrf}
    if e.bleu_tokenised_lowercase:
        scores["BLEU, published measure"] = e.bleu_tokenised_lowercase
    others = {
        "exactly right": f"{100 * e.exact:.2f} %",
        "perplexity": f"{e.perplexity:.3f} a piece; {e.perplexity_character:.4f} a character",
        "speed": f"{e.sentences_per_second:,.1f} sentences/s",
    }
    width = max(map(len, [*scores, *others]))
    console.print(f"{run} on {e.test_set.name}: {len(e.outputs):,} pairs")
    for name, score in scores.items():
        console.print(f"  {name:{width}}  {score.value:.2f}")
        # On a line of its own, whole however narrow the terminal is: it is there to be quoted.
        console.print(f"    {score.signature}")
    for name, told in others.items():
        console.print(f"  {name:{width}}  {told}")
    if e.contaminated:
        console.print(
            f"  caution: {e.contaminated:,} of these sentences occur in the training data", style="yellow"
        )
    console.print()


def _verdict(comparison: Comparison) -> str:
    one, other = comparison.baseline, comparison.system
    verdict = "significant" if comparison.significant else "may be chance"
    return (
        f"{other.score - one.score:+.2f}  ({one.score:.2f} ± {one.half_width:.2f} -> "
        f"{other.score:.2f} ± {other.half_width:.2f}; p = {comparison.p_value:.3f}: {verdict})"
    )
