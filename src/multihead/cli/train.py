"""Train a model by a recipe, or on your own corpus.

    multihead train multi30k-de-en --data.dir data/multi30k
    multihead train --src train.de --tgt train.en
    multihead train --corpora corpora.toml

The same command on the same run folder goes on where it was cut off.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from multihead.cli import INTERRUPTED, _console, _options, evaluate
from multihead.cli._dry_run import show
from multihead.cli._ending import ending
from multihead.recipe import SECTION_NAMES
from multihead.run import Run
from multihead.settings import tasks
from multihead.workflows.dry_run import dry_run
from multihead.workflows.progress_display import ProgressDisplay
from multihead.workflows.resolve_corpora import chosen_of_corpora, named_corpora, several
from multihead.workflows.resolve_recipe import chosen
from multihead.workflows.train import default_folder, train


@dataclass(frozen=True)
class Options:
    """What can be said besides the keys of a recipe."""

    recipe: Annotated[_options.Name, tyro.conf.arg(metavar="[RECIPE]")] = None
    """A built-in recipe (`multihead recipes`) or a TOML file. Without it settings suit the corpus's size."""
    src: _options.Files = ()
    """Training file(s), source side: lines, or TSV / JSONL with both sides; plain, .gz, .xz or .zst."""
    tgt: _options.Files = ()
    """Training file(s), target side, line by line with the source."""
    corpora: _options.File = None
    """A corpora.toml: several corpora, languages and directions in one model (docs/languages.md)."""
    corpus: Annotated[
        tuple[str, ...],
        tyro.conf.arg(metavar="LANGUAGES=SOURCE,TARGET [...]", help_behavior_hint=""),
    ] = ()
    """The same without a file: de-en=train.de,train.en fr-en=train.fr,train.en."""
    valid_src: _options.Files = ()
    """Validation file(s), source side. Without them a part of the training data is held out."""
    valid_tgt: _options.Files = ()
    """Validation file(s), target side."""
    run: _options.Folder = None
    """Run folder; by default runs/RECIPE-HASH. A run that is there already is gone on with."""
    init: _options.Folder = None
    """Begin with the weights and the vocabulary of this run (fine-tuning)."""
    dry_run: _options.Flag = False
    """Read the data, try the largest batch, estimate the time; train nothing."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, given = _options.read_with_keys(Options, arguments, sections=SECTION_NAMES)
    files = {
        "source": options.src,
        "target": options.tgt,
        "valid_source": options.valid_src,
        "valid_target": options.valid_tgt,
    }
    run, init = (Path(name) if name else None for name in (options.run, options.init))
    settings: dict[str, object] = {**given, **named_corpora(options.corpora, options.corpus)}
    choose = chosen_of_corpora if several(settings) else chosen
    recipe = choose(options.recipe, files, settings, run=run, init=init)
    console = _console.output()
    with ProgressDisplay(console) as watcher:
        if options.dry_run:
            found = dry_run(recipe, watcher, init=init)
        else:
            folder = run or default_folder(recipe)
            console.print(f"run folder: {folder}")
            outcome = train(recipe, folder, watcher, init=init)
    if options.dry_run:
        show(found, console)
        return 0
    console.print(ending(outcome, watcher.began, f"train {shlex.join(arguments)}"))
    if outcome.how == "interrupted":
        return INTERRUPTED
    command = tasks.use(recipe.task).format(run=shlex.quote(str(folder)))
    several_targets = {to for _, to in Run.open(folder).directions}
    languages = f" --to {'|'.join(sorted(several_targets))}" if len(several_targets) > 1 else ""
    console.print(f"to use it: {_console.program()} {command}{languages}")
    if init and recipe.task == "translation" and recipe.data.tests:
        console.print("\nthe old test sets, before and after:\n")
        return evaluate.main([str(init), str(folder), "--data.dir", recipe.data.dir])
    return 0
