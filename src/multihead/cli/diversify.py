"""Train on a corpus and on translations of it by several teachers.

    multihead diversify --src train.en --tgt train.de --run runs/diverse
    multihead diversify multi30k-en-de-lowercase --data.dir data/multi30k \\
        --student multi30k-en-de-diverse --run runs/diverse

Data diversification (Nguyen et al. 2020): two teachers translate the source
side, one translates the target side back, and one student learns from the
corpus and from all of these. The model is RUN/student. The same command
resumes, wherever it was interrupted. The end is a comparison with the teachers.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from multihead.apps.corpus import diversify as work
from multihead.cli import INTERRUPTED, _console, _options
from multihead.recipe import SECTION_NAMES
from multihead.tasks.translation.evaluate import Evaluation
from multihead.workflows.progress_display import ProgressDisplay


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command besides recipe keys, which all trainings have in common."""

    recipe: Annotated[_options.Name, _options.Option(metavar="[RECIPE]")] = None
    """Recipe of the teachers. (default: settings that suit the corpus)"""
    student: Annotated[_options.Text, _options.Option(metavar="RECIPE")] = None
    """Recipe of the student; the corpus is that of the teachers. (default: that of the teachers)"""
    src: _options.Files = ()
    """Training file(s), source side, or files with both sides."""
    tgt: _options.Files = ()
    """Training file(s), target side."""
    valid_src: _options.Files = ()
    """Validation file(s), source side. (default: part of the training data is held out)"""
    valid_tgt: _options.Files = ()
    """Validation file(s), target side."""
    run: Annotated[str, _options.Option(metavar="DIR")]
    """Folder for everything."""
    teachers: int = work.FORWARD
    """Teachers in the direction of the student."""
    back_teachers: int = work.BACKWARD
    """Teachers in the opposite direction."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, keys = _options.read_with_keys(Options, arguments, sections=SECTION_NAMES)
    corpus = {
        "source": options.src,
        "target": options.tgt,
        "valid_source": options.valid_src,
        "valid_target": options.valid_tgt,
    }
    request = work.DiversificationRequest(
        name=options.recipe,
        student=options.student,
        corpus=corpus,
        given=keys,
        folder=Path(options.run),
        forward=options.teachers,
        backward=options.back_teachers,
    )
    console = _console.output()
    try:
        with ProgressDisplay(console) as display:
            evaluations = work.diversify(request, display)
    except KeyboardInterrupt:
        command = f"{_console.program()} diversify {shlex.join(arguments)}"
        console.print(f"interrupted; resume with the same command:\n  {command}", soft_wrap=True)
        return INTERRUPTED
    _show(evaluations, console)
    console.print(f"to use it: {_console.program()} translate {shlex.quote(options.run)}/{work.STUDENT}")
    return 0


def _show(found: Sequence[tuple[str, Evaluation]], console: Console) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("test set")
    table.add_column("model")
    for name in ("pairs", "BLEU", "chrF2", "exact"):
        table.add_column(name, justify="right")
    for system, evaluation in found:
        scores = [
            f"{evaluation.bleu.value:.2f}",
            f"{evaluation.chrf.value:.2f}",
            f"{100 * evaluation.exact:.1f} %",
        ]
        table.add_row(evaluation.test_set.name, system, f"{len(evaluation.outputs):,}", *scores)
    console.print(table)
