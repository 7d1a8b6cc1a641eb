"""Comparison of a student with its teachers: size, speed and BLEU on the same sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from multihead.run import Run
from multihead.run.names import WEIGHTS
from multihead.system.progress import OnProgress
from multihead.tasks.translation.evaluate import TestSet, compare, evaluate, read_test_set
from multihead.tasks.translation.lines import Translator
from multihead.workflows.new_model import size_of

VALIDATION = "validation"


@dataclass(frozen=True)
class SystemRow:
    """A system on a test set.

    Attributes:
        test: name of the test set.
        system: the teachers or the student.
        parameters: number of parameters.
        megabytes: size of the weights on disk.
        sentences_per_second: in batches, with the run's search settings, on this machine.
        bleu: sacreBLEU.
        difference: BLEU minus the teachers' BLEU; None for the teachers.
        p_value: p-value of the difference (paired bootstrap); None for the teachers.
    """

    test: str
    system: str
    parameters: int
    megabytes: float
    sentences_per_second: float
    bleu: float
    difference: float | None = None
    p_value: float | None = None


def distillation_table(
    teachers: Sequence[Path], student: Path, *, device: str, progress: OnProgress
) -> list[SystemRow]:
    """Translate the student's test sets, or else its validation files, with both systems.

    Args:
        teachers: run folders; several are an ensemble.
        student: its run folder.
        device: device of both.
        progress: called with the progress.
    """
    rows = []
    for test in _tests(Run.open(student)):
        measured = []
        for name, folders in (("teacher", teachers), ("student", [student])):
            translator = Translator.load(*folders, device=device)
            translator.translate(test.sources[:1])  # the engine is chosen and proven
            report = partial(progress, f"{test.name}: {name}")
            evaluation = evaluate(translator, test, translator.settings, progress=report)
            measured.append(evaluation)
            label = f"{len(folders)} teachers" if len(folders) > 1 else name
            size = sum((folder / WEIGHTS).stat().st_size for folder in folders) / 1e6
            parameters = sum(map(size_of, translator.models))
            rows.append(
                SystemRow(
                    test.name, label, parameters, size, evaluation.sentences_per_second, evaluation.bleu.value
                )
            )
        tested = compare(measured[0], measured[1])["bleu"]
        difference = measured[1].bleu.value - measured[0].bleu.value
        rows[-1] = replace(rows[-1], difference=difference, p_value=tested.p_value)
    return rows


def _tests(student: Run) -> list[TestSet]:
    data = student.recipe.data
    if data.tests:
        return [read_test_set(name, data, names) for name, names in data.tests.items()]
    if data.valid_source:
        # The first file of each side: all of them, unless a corpus is in parts.
        return [read_test_set(VALIDATION, data, (*data.valid_source[:1], *data.valid_target[:1]))]
    return []
