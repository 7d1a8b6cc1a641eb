"""Train a small student on the translations of teachers.

    multihead distill runs/de-en -o runs/student
    multihead distill runs/one runs/two -o runs/student --student micro
    multihead distill runs/de-en -o runs/student --src more.de

The teachers (several are an ensemble) translate the source side of their
training data, or of --src; of each sentence's best outputs, the one nearest to
the reference teaches the student (Kim and Rush 2016), beside the original
pairs. The same command resumes at any point. At the end, size, speed and BLEU
of both stand side by side.
docs/how-to/distill.md has the sizes of students.
"""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from multihead.apps.corpus.distillation_table import SystemRow, distillation_table
from multihead.apps.corpus.distilling import (
    DistillationCorpus,
    distill,
    judged_on,
    lessons_folder,
    student_recipe,
)
from multihead.apps.corpus.student_vocabulary import fit_vocabulary
from multihead.cli import INTERRUPTED, _console, _options
from multihead.cli.train import summary
from multihead.errors import UserError
from multihead.recipe import SECTION_NAMES, model_kinds
from multihead.run import Run
from multihead.run.files import check_place
from multihead.system import hardware
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.without_effect import refuse_without_effect
from multihead.workflows.progress_display import ProgressDisplay
from multihead.workflows.train import train


@dataclass(frozen=True)
class Options:
    """Options of the command besides recipe keys of the student."""

    teachers: _options.RunFolders
    """Run folders of the teachers; several translate as an ensemble."""
    output: _options.NewFolder
    """Run folder of the student. Its training data stands beside it, in DIR.distilled."""
    student: _options.Word = "tiny"
    """micro (4 + 1 layers, 128/256), tiny (6 + 2, 256/1536), base (6 + 2, 512/2048), or a recipe."""
    src: _options.Files = ()
    """File(s) for the teachers to translate. [the training data of the first teacher]"""
    tgt: _options.Files = ()
    """References of --src, aligned with it."""
    candidates: int = 4
    """Outputs of each sentence from which the one nearest to the reference is chosen, the beam size."""
    translations_only: _options.Flag = False
    """Train on the translations alone, without the original pairs."""
    device: _options.Device = "auto"
    """Device of the teachers; --training.device is the student's."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, keys = _options.read_with_keys(Options, arguments, sections=SECTION_NAMES)
    _options.at_least_one("candidates", options.candidates)
    teachers, student = [Path(name) for name in options.teachers], Path(options.output)
    check_place(student)
    hardware.keep_memory()
    first = Run.open(teachers[0]).fit_for("translation")
    folder = lessons_folder(student)
    recipe = student_recipe(options.student, first, folder, keys)
    refuse_without_effect(keys, recipe)
    corpus = _corpus(options, first, folder)
    recipe = judged_on(corpus, recipe)
    translator = Translator.load(*teachers, device=options.device)
    search = translator.settings.model_copy(
        update={"method": "beam", "beam_size": options.candidates, "n_best": options.candidates}
    )
    console = _console.output()
    with ProgressDisplay(console) as display:
        lessons = distill(
            teachers,
            corpus,
            folder,
            translator,
            search,
            keep_original=not options.translations_only,
            progress=display.on_preparation,
        )
        console.print(lessons, soft_wrap=True)
        del translator
        outcome = train(fit_vocabulary(recipe, keys), student, display, started=time.monotonic())
    console.print(summary(outcome, display.began, f"distill {shlex.join(arguments)}"))
    if outcome.status == "interrupted":
        return INTERRUPTED
    with ProgressDisplay(console) as display:
        rows = distillation_table(teachers, student, device=options.device, progress=display.on_preparation)
    if rows:
        show(rows, console)
    else:
        how = "compare TEACHER STUDENT --src FILE --tgt FILE"
        console.print(f"to compare it with the teacher: {_console.program()} {how}")
    if recipe.kind in model_kinds.built_in():
        place = shlex.quote(str(student))
        console.print(
            f"to run it in Firefox's engine: {_console.program()} export {place} --to firefox -o DIR"
        )
    return 0


def _corpus(options: Options, first: Run, folder: Path) -> DistillationCorpus:
    if not options.src:
        if options.tgt:
            raise UserError("references without sentences", place="--tgt", remedy="Name both: --src, --tgt.")
        return DistillationCorpus.of(first, folder)
    data = first.recipe.data.model_copy(update={"dir": "."})
    return DistillationCorpus(data, options.src, options.tgt, alone=not options.tgt)


def show(rows: Sequence[SystemRow], console: Console) -> None:
    """Print the comparison of teachers and student."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in ("parameters", "MB", "sentences/s", "BLEU", "versus the teacher"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        if row.difference is None:
            table.add_row(row.test)
        against = "" if row.difference is None else f"{row.difference:+.2f}, p = {row.p_value:.3f}"
        numbers = f"{row.parameters:,}", f"{row.megabytes:.1f}", f"{row.sentences_per_second:.0f}"
        table.add_row(f"  {row.system}", *numbers, f"{row.bleu:.2f}", against)
    console.print(table)
