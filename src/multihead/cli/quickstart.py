"""Train a small translator of number words in a few minutes.

    multihead quickstart
    multihead quickstart --pair ko-en

It needs neither a network nor files. It generates its own corpus
(zweiundvierzig is forty-two), holds out numbers for the test, and then runs all
the usual steps: cleaning, subwords, training, evaluation. It ends with the live
page of the new model, which translates while you type, and opens it on a
desktop. Recipe keys are accepted as options (`multihead train --help` lists
them).
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from multihead import recipe as recipes
from multihead.apps.export.live_page import live_page
from multihead.apps.studies.equal_size import settings_of_equal_size
from multihead.cli import INTERRUPTED, _console, _options, _page
from multihead.cli._counting import progress_bar
from multihead.cli._shades import shades
from multihead.cli.train import summary
from multihead.errors import UserError
from multihead.inspect.heatmap import heatmap
from multihead.inspect.sparklines import terminal_curves
from multihead.recipe import SECTION_NAMES, Recipe, model_kinds, tasks
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system import plugins
from multihead.tasks.translation.compare import alignment
from multihead.tasks.translation.evaluate import Evaluation, evaluate, test_sets
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.without_effect import refuse_keys, refuse_without_effect
from multihead.text import numbers
from multihead.workflows.progress_display import ProgressDisplay
from multihead.workflows.train import train

Pair = Literal["de-en", "ko-en"]  # text.numbers.PAIRS
EXAMPLE: dict[Pair, tuple[str, str]] = {
    "de-en": ("zweiundvierzig", "forty-two"),
    "ko-en": ("사십이", "forty-two"),
}
"""Word and translation shown in the attention map."""
SAMPLES = len(numbers.SAMPLES)


OWN_CORPUS = (
    *("data.source", "data.target", "data.valid_source", "data.valid_target", "data.tests"),
    *("data.source_language", "data.target_language"),
    *("data.format", "data.source_field", "data.target_field", "data.encoding"),
)
"""Keys of a corpus, which the quickstart makes itself."""


@dataclass(frozen=True)
class Options:
    """Options of the command besides recipe keys."""

    pair: Pair = "de-en"
    """German or Korean to English."""
    run: _options.Folder = None
    """Run folder. (default: runs/quickstart-PAIR)"""
    steps: _options.Number = None
    """Number of updates. (default: that of the recipe)"""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, keys = _options.read_with_keys(Options, arguments, sections=SECTION_NAMES, listed=False)
    recipe = _recipe(options, keys)
    folder = Path(options.run or f"runs/{recipe.name}")
    console = _console.output()
    numbers.write_files(numbers.make(options.pair, recipe.training.seed), Path(recipe.data.dir))
    console.print(f"corpus of number words: {recipe.data.dir}")
    with ProgressDisplay(console) as display:
        outcome = train(recipe, folder, display)
    console.print(summary(outcome, display.began, f"quickstart {shlex.join(arguments)}"))
    if outcome.status == "interrupted":
        return INTERRUPTED
    translator = Translator.load(folder, device=recipe.training.device)
    with progress_bar("translating held-out numbers") as progress:
        evaluation = evaluate(translator, test_sets(recipe.data)[0], recipe.search, progress=progress)
    _show_results(evaluation, console)
    attends = _show_attention(translator, EXAMPLE[options.pair], folder, console)
    _show_curves(folder, console)
    _show_next(evaluation, folder, console, attends=attends)
    _show_page(folder, console)
    return 0


def _recipe(options: Options, given: dict[str, str]) -> Recipe[Settings]:
    """Return the recipe `quickstart` for a language pair."""
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
    refuse_keys(given, OWN_CORPUS, "in the quickstart, which makes its own corpus")
    if options.steps is not None:
        refuse_keys(given, ("training.steps",), "beside --steps")
    kind = model_kinds.name_kind(given.get("model.kind", recipes.DEFAULT_KIND))
    if model_kinds.task(kind) != "translation":
        raise UserError(
            f'the quickstart trains a translator, and "{plugins.display_name(kind)}" '
            f"is for {tasks.get_task(model_kinds.task(kind)).work}",
            place="--model.kind",
            remedy="Leave it out, or choose another model.",
        )
    sizes = settings_of_equal_size(recipes.load("quickstart"), kind)
    recipe = recipes.load("quickstart", {**overrides, **steps, **sizes, **given})
    refuse_without_effect(given, recipe)
    return recipe


def _show_results(evaluation: Evaluation, console: Console) -> None:
    right = sum(map(str.__eq__, evaluation.outputs, evaluation.test_set.references))
    console.print(
        f"\n{right:,} of {len(evaluation.outputs):,} held-out numbers are translated correctly "
        f"({100 * evaluation.exact:.1f} %), for example:"
    )
    sources, references = evaluation.test_set.sources, evaluation.test_set.references
    for source, output, reference in zip(sources[:SAMPLES], evaluation.outputs, references, strict=False):
        correction = "" if output == reference else f" (should be: {reference})"
        console.print(f"  {source}\n    {output}{correction}")


def _show_attention(translator: Translator, example: tuple[str, str], folder: Path, console: Console) -> bool:
    """Draw an alignment by attention; return whether the model has attention to the source."""
    word, reference = example
    # A model trained for a few steps may give an empty output; then the reference is aligned instead.
    output = translator.translate([word])[0].text.strip() or reference
    matrix = alignment(translator, word, output, words=False)
    if matrix is None:
        console.print("\nThis model has no attention over the source to show.")
        return False
    heatmap(matrix, folder / "attention.svg")
    console.print(f"\nattention from {output} to {word} ({folder / 'attention.svg'}):\n")
    console.print(shades(matrix, console.width))
    return True


def _show_curves(folder: Path, console: Console) -> None:
    if curves := terminal_curves(Run.open(folder).metrics(), console.width):
        console.print(f"\nlearning curves ({folder / 'curves.svg'}):\n\n{curves}")


def _show_next(evaluation: Evaluation, folder: Path, console: Console, *, attends: bool) -> None:
    program, run = _console.program(), shlex.quote(str(folder))
    # Of usual length: the shortest are round numbers, which random training numbers hardly ever are.
    others = sorted(evaluation.test_set.sources[SAMPLES:], key=len)
    number = shlex.quote(others[len(others) // 4])
    console.print("\nTry next:")
    console.print(f"  echo {number} | {program} translate {run}")
    if attends:
        console.print(f"  {program} inspect {run} {number}")
    console.print(f"  {program} evaluate {run}")


def _show_page(folder: Path, console: Console) -> None:
    """Write the model's live page, print its address, and open it on a desktop."""
    try:
        page = live_page(Run.open(folder), exact=True).page()
    except UserError as error:
        console.print(f"\nno live page: {error.fact}")
        return
    path = folder / "live.html"
    page.save(str(path))
    address = path.resolve().as_uri()
    console.print("\nThe live page translates while you type, shows every head, and works out every number:")
    console.print(f"  {address}", soft_wrap=True)
    if console.is_terminal:
        _page.open_on_desktop(address)
