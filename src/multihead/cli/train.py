"""Train a model from a recipe or on your own corpus.

    multihead train multi30k-de-en --data.dir data/multi30k
    multihead train --src train.de --tgt train.en
    multihead train --corpora corpora.toml

The same command resumes an interrupted training.
"""

import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from rich.console import Console

from multihead.apps.corpus.additions import from_mono, held_out_corrections, named_additions
from multihead.cli import INTERRUPTED, _console, _options, evaluate
from multihead.cli._dry_run import show
from multihead.errors import UserError
from multihead.recipe import SECTION_NAMES, Recipe, tasks
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.run.names import RECIPE
from multihead.system import parallel, plugins
from multihead.training import Outcome
from multihead.training.ending import BOUND
from multihead.training.extension import way_on
from multihead.workflows.dry_run import dry_run
from multihead.workflows.finishing import ask_to_finish, check_longer, positive_minutes
from multihead.workflows.launching import launch
from multihead.workflows.mirror import Mirror
from multihead.workflows.observers import Observed, recorders
from multihead.workflows.progress_display import (
    ProgressDisplay,
    format_duration,
    format_metrics,
    format_number,
    reasons,
)
from multihead.workflows.resolve_corpora import named_corpora, resolve_corpora, several
from multihead.workflows.resolve_recipe import resolve_recipe
from multihead.workflows.same_start import recipe_of_first, refuse_other_commands, refuse_several
from multihead.workflows.train import default_folder, train
from multihead.workflows.trial import settle_alternative, typed_differences


@dataclass(frozen=True)
class Options:
    """Options of the command besides recipe keys."""

    recipe: Annotated[_options.Name, _options.Option(metavar="[RECIPE]")] = None
    """Built-in recipe (`multihead recipes`) or TOML file. (default: settings for the size of the corpus)"""
    src: Annotated[_options.Files, _options.Option(group="corpus")] = ()
    """Training file(s), source side; or both sides: TSV, CSV, JSONL, TMX, Parquet ..., a folder or an archive
    (docs/start/your-corpus.md)."""
    tgt: _options.Files = ()
    """Training file(s), target side, aligned line by line. Of a film, its subtitles."""
    source_language: Annotated[_options.Text, _options.Option(aliases=("--src-lang",))] = None
    """Source language, such as de; needed for TMX."""
    target_language: Annotated[_options.Text, _options.Option(aliases=("--tgt-lang",))] = None
    """Target language, such as en."""
    corpora: _options.File = None
    """A corpora.toml: several corpora or languages. See docs/how-to/languages.md."""
    corpus: Annotated[
        tuple[str, ...], _options.Option(metavar="LANGUAGES=SOURCE,TARGET [...]"), _options.RARE
    ] = ()
    """The same without a file: de-en=train.de,train.en fr-en=train.fr,train.en."""
    valid_src: _options.Files = ()
    """Validation file(s), source side. (default: held out)"""
    valid_tgt: _options.Files = ()
    """Validation file(s), target side."""
    synthetic: Annotated[
        tuple[str, ...], _options.Option(metavar="DIR..."), _options.Option(group="more data")
    ] = ()
    """Folder(s) of `multihead synthesise` to add. See docs/how-to/more-data.md."""
    mono: _options.Files = ()
    """Text in the target language, to be back-translated and added. The model that translates it back is
    trained first."""
    copy: Annotated[_options.Files, _options.RARE] = ()
    """Text in the target language to add as source and target, tagged."""
    corrections: _options.Files = ()
    """Corrected pairs (TSV, TMX ...), drawn more often than others. With --init they are added to the run's
    own corpus."""
    run: Annotated[_options.Folder, _options.Option(group="training")] = None
    """Run folder, resumed if it exists. (default: runs/RECIPE-HASH)"""
    minutes: Annotated[float | None, _options.Option(metavar="N")] = None
    """Make the best of this many minutes. Everything is counted."""
    finish: _options.Flag = False
    """End the training of --run now, with a cool-down. It may be running or stopped; schedule wsd cools down,
    and the best weights are chosen."""
    longer: Annotated[_options.Flag, _options.RARE] = False
    """Continue the training of --run after its end, from before its cool-down (schedule wsd), with patience
    counted anew. Raising --training.steps or --minutes has the same effect."""
    init: _options.Folder = None
    """Fine-tune: start from the weights and vocabulary of this run."""
    mirror: Annotated[str | None, _options.Option(metavar="ADDRESS"), _options.RARE] = None
    """Copy the run to this address (s3://BUCKET/RUN) at every validation; where --run does not exist, resume
    from the copy (docs/how-to/parallel.md)."""
    processes: Annotated[_options.Number, _options.RARE] = None
    """Train in this many processes on this machine, with the same result (docs/how-to/parallel.md)."""
    observe: Annotated[tuple[str, ...], _options.Option(metavar="NAME..."), _options.RARE] = ()
    """Also log metrics to tensorboard, mlflow or wandb (must be installed)."""
    dry_run: _options.Flag = False
    """Estimate memory and time without training. The data is read and the largest batch tried."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    started = time.monotonic()
    options, keys = _options.read_with_keys(Options, arguments, sections=SECTION_NAMES)
    processes = _options.at_least_one("processes", options.processes) if options.processes is not None else 1
    if processes > 1 and not parallel.is_launched() and not options.dry_run:
        return launch(processes, ["train", *arguments], _console.messages().print)
    with parallel.begin():
        refuse_other_commands(arguments, options.recipe)
        return _train(options, keys, arguments, started)


def _train(options: Options, given: dict[str, str], arguments: Sequence[str], started: float) -> int:
    files = {
        "source": options.src,
        "target": options.tgt,
        "valid_source": options.valid_src,
        "valid_target": options.valid_tgt,
    }
    run, init = (Path(name) if name else None for name in (options.run, options.init))
    console = _console.output(quiet=not parallel.first())
    if options.finish and parallel.from_first(lambda: ask_to_finish(run)):
        console.print(f"{run}: its training was asked to end")
        return 0
    if options.longer:
        check_longer(run)
    if options.minutes is not None:
        given = {"training.minutes": str(positive_minutes(options.minutes)), **given}
    given = {**_languages(options), **given}
    settings: dict[str, object] = {**given, **named_corpora(options.corpora, options.corpus)}
    settings |= named_additions(options.synthetic, options.copy, options.corrections)
    if options.mono:
        refuse_several("--mono")
        _check_mono(options, settings)
        with ProgressDisplay(console) as display:
            prepared = from_mono(options.recipe, files, settings, options.mono, run, display)
        if prepared is None:
            return INTERRUPTED
        settings |= prepared
    resolve = resolve_corpora if several(settings) else resolve_recipe

    def make() -> Recipe[Settings]:
        estimatee = resolve(options.recipe, files, settings, run=run, init=init)
        if parallel.world() == 1 or estimatee.alternative is None:
            return estimatee
        # Several processes make no brief trainings: the first choice holds, or that of the run.
        folder = run or default_folder(estimatee)
        resumed = Run.exists(folder)
        return (
            settle_alternative(estimatee, folder, ProgressDisplay(console))
            if resumed
            else replace(estimatee, alternative=None)
        )

    if options.mirror and run and parallel.first():
        Mirror(options.mirror, run).fetch()  # the recipe of a run that exists is its own
    recipe = recipe_of_first(make)
    folder = run or default_folder(recipe)
    if recipe.alternative and not Run.exists(folder):
        console.print(
            f"{typed_differences(recipe)} may suit it as well: both are trained briefly, one is kept"
        )
    with ProgressDisplay(console) as display:
        if options.dry_run:
            for line in reasons(recipe):
                console.print(line)
            estimate = dry_run(recipe, display, init=init, folder=folder)
        else:
            chosen = f" ({RECIPE}: {len(recipe.reasons)} settings chosen for this corpus, and why)"
            console.print(f"run folder: {folder}{chosen if recipe.reasons else ''}")
            recipe = settle_alternative(recipe, folder, display)
            observed = Observed(display, recorders(options.observe, folder) if parallel.first() else ())
            with closing(observed):
                outcome = train(
                    recipe,
                    folder,
                    observed,
                    init=init,
                    started=started,
                    finish=options.finish,
                    longer=options.longer,
                    mirror=options.mirror,
                )
    if options.dry_run:
        show(estimate, console)
        return 0
    # A file that the arguments do not name was named by --model.file.
    named = "" if "model.kind" in given else plugins.option(recipe.kind)
    console.print(summary(outcome, display.began, f"train {shlex.join(arguments)}{named}"))
    if outcome.status == "interrupted":
        return 128 + outcome.signal if outcome.signal else INTERRUPTED
    if not parallel.first():
        return 0
    if outcome.progress.diverged:
        loss, first = (
            format_number(outcome.progress.loss or 0),
            format_number(outcome.progress.first_loss or 0),
        )
        raise UserError(
            f"the training diverged: its loss was {first} at the first update and {loss} at the end",
            remedy="Lower training.learning_rate or raise training.warmup_steps, with a new --run folder.",
        )
    if command := tasks.get_task(recipe.task).use:
        use = command.format(run=shlex.quote(str(folder))) + plugins.option(recipe.kind)
        targets = sorted({to for _, to in Run.open(folder).directions})
        language = f" --to {'|'.join(targets)}" if len(targets) > 1 else ""
        console.print(f"to use it: {_console.program()} {use}{language}")
    return _before_and_after(init, folder, recipe, console) if init else 0


def _before_and_after(init: Path, folder: Path, recipe: Recipe[Settings], console: Console) -> int:
    """Evaluate a run and the one it was fine-tuned from, on its test sets and on held-out corrections."""
    if recipe.task != "translation":
        return 0
    code = 0
    if recipe.data.tests:
        console.print("\ntest sets before and after fine-tuning:\n")
        code = evaluate.main([str(init), str(folder), "--data.dir", recipe.data.dir])
    if held_out := held_out_corrections(folder, recipe):
        console.print("\nheld-out corrections before and after fine-tuning:\n")
        form = ["--data.format", "jsonl", "--data.source_field", "source", "--data.target_field", "target"]
        code = code or evaluate.main([str(init), str(folder), "--src", str(held_out), *form])
    return code


def _check_mono(options: Options, settings: Mapping[str, object]) -> None:
    """Refuse what a text in the target language does not go with."""
    if several(settings):
        remedy = "Translate it by `multihead synthesise`, and name its folder's corpus in corpora.toml."
        raise UserError("beside several corpora", place="--mono", remedy=remedy)
    if options.dry_run:
        remedy = "Leave one of them out: the text is translated by a model that is trained first."
        raise UserError("beside --dry-run", place="--mono", remedy=remedy)


def _languages(options: Options) -> dict[str, str]:
    """Return the settings of the language options."""
    languages = {
        "data.source_language": options.source_language,
        "data.target_language": options.target_language,
    }
    return {key: code for key, code in languages.items() if code is not None}


def summary(outcome: Outcome, start: int, command: str) -> str:
    """Return a summary of a training that has ended, with the command that resumes it if interrupted.

    Args:
        outcome: the training's outcome.
        start: step after which this process started.
        command: the command line after ``multihead``.
    """
    progress = outcome.progress
    if outcome.status == "interrupted":
        resume = f"{_console.program()} {command}"
        return f"interrupted after step {progress.step:,}; resume with the same command:\n  {resume}"
    why = progress.stopped or progress.ending
    reason = f" ({why})" if why and not why.startswith(BOUND) else ""
    nothing, more = "", ""
    if start == progress.step:
        nothing = "nothing left to do: "
        more = f"\n{way_on(why)} continues it" if why else ""
    steps = f"{progress.step:,} step{'' if progress.step == 1 else 's'}"
    ended = "diverged within" if progress.diverged else "finished after"
    return (
        f"{nothing}{ended} {steps}{reason}, {format_duration(progress.seconds)} of training\n"
        f"{outcome.weights} weights: {format_metrics(outcome.metrics or {})}{more}"
    )
