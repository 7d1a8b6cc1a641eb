"""Train a model from a recipe or on your own corpus.

    multihead train multi30k-de-en --data.dir data/multi30k
    multihead train --src train.de --tgt train.en
    multihead train --corpora corpora.toml

The same command resumes an interrupted training.
"""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from multihead import parallel, plugins
from multihead.cli import INTERRUPTED, _console, _options, evaluate
from multihead.cli._dry_run import show
from multihead.recipe import SECTION_NAMES
from multihead.run import Run
from multihead.settings import tasks
from multihead.training import Outcome
from multihead.training.ending import BOUND
from multihead.workflows.dry_run import dry_run
from multihead.workflows.finishing import ask_to_finish, positive_minutes
from multihead.workflows.launching import launch
from multihead.workflows.progress_display import (
    ProgressDisplay,
    format_duration,
    format_metrics,
    reasons,
)
from multihead.workflows.resolve_corpora import named_corpora, resolve_corpora, several
from multihead.workflows.resolve_recipe import resolve_recipe
from multihead.workflows.same_start import recipe_of_first, refuse_other_commands
from multihead.workflows.train import default_folder, train


@dataclass(frozen=True)
class Options:
    """Options of the command besides recipe keys."""

    recipe: Annotated[_options.Name, tyro.conf.arg(metavar="[RECIPE]")] = None
    """Built-in recipe (`multihead recipes`) or TOML file. (default: settings for the size of the corpus)"""
    src: _options.Files = ()
    """Training file(s), source side: lines, or TSV / JSONL with both sides; plain, .gz, .xz or .zst."""
    tgt: _options.Files = ()
    """Training file(s), target side, aligned with the source line by line."""
    corpora: _options.File = None
    """A corpora.toml: several corpora, languages and directions in one model (docs/languages.md)."""
    corpus: Annotated[
        tuple[str, ...],
        tyro.conf.arg(metavar="LANGUAGES=SOURCE,TARGET [...]", help_behavior_hint=""),
    ] = ()
    """The same without a file: de-en=train.de,train.en fr-en=train.fr,train.en."""
    valid_src: _options.Files = ()
    """Validation file(s), source side. (default: part of the training data is held out)"""
    valid_tgt: _options.Files = ()
    """Validation file(s), target side."""
    run: _options.Folder = None
    """Run folder; an existing run is resumed. (default: runs/RECIPE-HASH)"""
    minutes: Annotated[float | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Make the best of this many minutes, everything counted."""
    finish: _options.Flag = False
    """End the training of --run now, whether it is running or was stopped: with a cool-down (schedule wsd)
    and the choice of the best weights."""
    init: _options.Folder = None
    """Run folder whose weights and vocabulary to start from (fine-tuning)."""
    mirror: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS", help_behavior_hint="")] = None
    """Copy the run to this address (s3://BUCKET/RUN) at every validation; where --run does not exist, resume
    from the copy (docs/parallel.md)."""
    processes: _options.Number = None
    """Train in this many processes on this machine, with the same result (docs/parallel.md)."""
    dry_run: _options.Flag = False
    """Read the data, try the largest batch and estimate memory and time, without training."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    started = time.monotonic()
    options, given = _options.read_with_keys(Options, arguments, sections=SECTION_NAMES)
    wanted = _options.at_least_one("processes", options.processes) if options.processes is not None else 1
    if wanted > 1 and not parallel.launched() and not options.dry_run:
        return launch(wanted, ["train", *arguments], _console.messages().print)
    with parallel.begin():
        refuse_other_commands(arguments, options.recipe)
        return _train(options, given, arguments, started)


def _train(options: Options, given: dict[str, str], arguments: Sequence[str], started: float) -> int:
    files = {
        "source": options.src,
        "target": options.tgt,
        "valid_source": options.valid_src,
        "valid_target": options.valid_tgt,
    }
    run, init = (Path(name) if name else None for name in (options.run, options.init))
    console = _console.output(quiet=not parallel.first())
    if options.finish and ask_to_finish(run):
        console.print(f"{run}: its training was asked to end")
        return 0
    if options.minutes is not None:
        given = {"training.minutes": str(positive_minutes(options.minutes)), **given}
    settings: dict[str, object] = {**given, **named_corpora(options.corpora, options.corpus)}
    resolve = resolve_corpora if several(settings) else resolve_recipe
    recipe = recipe_of_first(lambda: resolve(options.recipe, files, settings, run=run, init=init))
    for line in reasons(recipe):
        console.print(line)
    with ProgressDisplay(console) as display:
        if options.dry_run:
            found = dry_run(recipe, display, init=init)
        else:
            folder = run or default_folder(recipe)
            console.print(f"run folder: {folder}")
            outcome = train(
                recipe,
                folder,
                display,
                init=init,
                started=started,
                finish=options.finish,
                mirror=options.mirror,
            )
    if options.dry_run:
        show(found, console)
        return 0
    # A file that the command does not name was named by --model.file.
    named = "" if options.recipe or "model.kind" in given else plugins.option(recipe.kind)
    console.print(summary(outcome, display.began, f"train {shlex.join(arguments)}{named}"))
    if outcome.status == "interrupted":
        return INTERRUPTED
    if not parallel.first():
        return 0
    if command := tasks.use(recipe.task):
        use = command.format(run=shlex.quote(str(folder))) + plugins.option(recipe.kind)
        targets = sorted({to for _, to in Run.open(folder).directions})
        language = f" --to {'|'.join(targets)}" if len(targets) > 1 else ""
        console.print(f"to use it: {_console.program()} {use}{language}")
    if init and recipe.task == "translation" and recipe.data.tests:
        console.print("\ntest sets before and after fine-tuning:\n")
        return evaluate.main([str(init), str(folder), "--data.dir", recipe.data.dir])
    return 0


def summary(outcome: Outcome, start: int, command: str) -> str:
    """Return a summary of a training that has ended, with the command that resumes it if interrupted.

    Args:
        outcome: of the training.
        start: step after which this process started.
        command: the command line after ``multihead``.
    """
    progress = outcome.progress
    if outcome.status == "interrupted":
        resume = f"{_console.program()} {command}"
        return f"interrupted after step {progress.step:,}; resume with the same command:\n  {resume}"
    why = progress.stopped or progress.ending
    reason = f" ({why})" if why and not why.startswith(BOUND) else ""
    nothing = "nothing left to do: " if start == progress.step else ""
    spent = format_duration(progress.seconds)
    return (
        f"{nothing}finished after {progress.step:,} steps{reason}, {spent} of training\n"
        f"{outcome.weights} weights: {format_metrics(outcome.metrics or {})}"
    )
