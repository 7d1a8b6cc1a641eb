"""Train a small translator now: number words, in minutes.

    multihead quickstart
    multihead quickstart --pair ko-en

Needs no network and no files: it makes its own corpus (zweiundvierzig is
forty-two), holds out numbers that training never sees, and then goes the
ordinary way: cleaning, subwords, training, evaluation. The keys of a recipe are
options here too (`multihead train --help` lists them).
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from multihead import recipe as recipes
from multihead.cli import INTERRUPTED, _console, _options
from multihead.cli._counting import counted
from multihead.cli._ending import ending
from multihead.cli._shades import shades
from multihead.generation import Translator
from multihead.inspect import heatmap, inspect_sentence, terminal_curves
from multihead.recipe import SECTION_NAMES, Recipe
from multihead.run import Run
from multihead.settings import Settings
from multihead.text import numbers
from multihead.workflows.evaluate import Evaluation, evaluate, test_sets
from multihead.workflows.progress_display import ProgressDisplay
from multihead.workflows.train import train

Pair = Literal["de-en", "ko-en"]  # text.numbers.PAIRS
EXAMPLE: dict[Pair, tuple[str, str]] = {
    "de-en": ("zweiundvierzig", "forty-two"),
    "ko-en": ("사십이", "forty-two"),
}
"""For the attention map."""
SAMPLES = len(numbers.SAMPLES)


@dataclass(frozen=True)
class Options:
    """What can be said besides keys of a recipe."""

    pair: Pair = "de-en"
    """From German or from Korean to English."""
    run: _options.Folder = None
    """Run folder; by default runs/quickstart-PAIR."""
    steps: _options.Number = None
    """Updates of the weights, if not as many as the recipe says."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, given = _options.read_with_keys(Options, arguments, sections=SECTION_NAMES, listed=False)
    recipe = _recipe(options, given)
    folder = Path(options.run or f"runs/{recipe.name}")
    console = _console.output()
    numbers.write_files(numbers.make(options.pair, recipe.training.seed), Path(recipe.data.dir))
    console.print(f"a corpus of number words: {recipe.data.dir}")
    with ProgressDisplay(console) as watcher:
        outcome = train(recipe, folder, watcher)
    console.print(ending(outcome, watcher.began, f"quickstart {shlex.join(arguments)}"))
    if outcome.how == "interrupted":
        return INTERRUPTED
    translator = Translator.load(folder, device=recipe.training.device)
    with counted("translating numbers never seen in training") as progress:
        evaluation = evaluate(translator, test_sets(recipe.data)[0], recipe.search, progress=progress)
    _show_results(evaluation, console)
    _show_pictures(translator, EXAMPLE[options.pair], folder, console)
    _show_next(evaluation, folder, console)
    return 0


def _recipe(options: Options, given: dict[str, str]) -> Recipe[Settings]:
    """Return the recipe `quickstart`, of this pair of languages."""
    source, target = options.pair.split("-")
    files: dict[str, object] = {
        f"data.{key}": (f"{part}.{language}",)
        for part, keys in {"train": ("source", "target"), "valid": ("valid_source", "valid_target")}.items()
        for key, language in zip(keys, (source, target), strict=True)
    }
    overrides = {
        "name": f"quickstart-{options.pair}",
        "data.dir": f"data/numbers-{options.pair}",
        **files,
        "data.tests.held_out": (f"test.{source}", f"test.{target}"),
        "data.source_language": source,
        "data.target_language": target,
    }
    steps = {"training.steps": options.steps} if options.steps is not None else {}
    return recipes.load("quickstart", {**overrides, **steps, **given})


def _show_results(evaluation: Evaluation, console: Console) -> None:
    right = sum(map(str.__eq__, evaluation.outputs, evaluation.test_set.references))
    console.print(
        f"\n{right:,} of {len(evaluation.outputs):,} numbers that training never saw are exactly right "
        f"({100 * evaluation.exact:.1f} %), for example:"
    )
    sources, references = evaluation.test_set.sources, evaluation.test_set.references
    for source, output, wanted in zip(sources[:SAMPLES], evaluation.outputs, references, strict=False):
        console.print(f"  {source}\n    {output if output == wanted else f'{output} (should be: {wanted})'}")


def _show_pictures(translator: Translator, example: tuple[str, str], folder: Path, console: Console) -> None:
    word, wanted = example
    # After a few steps a model may write nothing; then it is shown how it reads what it should write.
    output = translator.translate([word])[0].text.strip() or wanted
    alignment = inspect_sentence(translator, word, output)
    heatmap(alignment, folder / "attention.svg")
    console.print(
        f"\nwhat the model looks at while it translates {word} as {output} ({folder / 'attention.svg'}):\n"
    )
    console.print(shades(alignment, console.width))
    if curves := terminal_curves(Run.open(folder).metrics(), console.width):
        console.print(f"\nhow it learned ({folder / 'curves.svg'}):\n\n{curves}")


def _show_next(evaluation: Evaluation, folder: Path, console: Console) -> None:
    program, run = _console.program(), shlex.quote(str(folder))
    number = shlex.quote(min(evaluation.test_set.sources[SAMPLES:], key=len))
    console.print("\nTry next:")
    console.print(f"  echo {number} | {program} translate {run}")
    console.print(f"  {program} inspect {run} {number}")
    console.print(f"  {program} evaluate {run}")
