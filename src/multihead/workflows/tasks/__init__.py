"""The roads of the tasks: from a recipe's data to what training asks for. One file a task, by its name.

The file of a task has ``ready(recipe, device, *, progress, beginning) -> Ready``, and
``inspect(run, question) -> Inspection``, for models with attention to look at.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from multihead.batch import Batch
from multihead.data.stream import Position, Stream
from multihead.errors import UserError
from multihead.inspect.report import AlignedSentence
from multihead.progress import OnProgress
from multihead.recipe import Recipe, refuse_contradictions
from multihead.run import Run
from multihead.settings import Settings, tasks
from multihead.text.tokenizer import Tokenizer
from multihead.training import Validation
from multihead.workflows.inspection import Inspection, Question


@dataclass(frozen=True)
class Ready:
    """What a task makes of a recipe before training begins.

    Attributes:
        recipe: with everything filled in that follows from the data.
        tokenizers: for the run folder, see ``Run.create``.
        fingerprint: hash of all data and of how it is prepared; another one is another run.
        files: the files that were read.
        data: what else environment.json says of the data.
        told: what a person is told of the data, a line each.
        sizes: the same for the table of a dry run, by name.
        tokens_an_epoch: as ``Batch.tokens`` counts.
        stream: makes the stream of training batches from a position.
        validate: looks at a model (in evaluation mode) after some step.
        look: shows where a trained model looks in a few validation examples; none where it has no attention
            over a source.
    """

    recipe: Recipe[Settings]
    tokenizers: Sequence[Tokenizer]
    fingerprint: str
    files: Sequence[Path]
    data: Mapping[str, Any]
    told: Sequence[str]
    sizes: Mapping[str, str]
    tokens_an_epoch: int
    stream: Callable[[Position], Stream[Batch]]
    validate: Callable[[nn.Module, int], Validation]
    look: Callable[[nn.Module], Sequence[AlignedSentence]] = lambda model: ()


def _workflow(task: str) -> ModuleType:
    return tasks.outside(task) or importlib.import_module(f"{__name__}.{task}")


def ready(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, beginning: Run | None = None
) -> Ready:
    """Prepare a recipe's data as its task does.

    Args:
        recipe: all settings.
        device: where models will be validated.
        progress: is told how far the preparation has come.
        beginning: the run that training begins with (fine-tuning), whose vocabulary is taken.

    Raises:
        UserError: settings that contradict each other; bad data; settings that do not go with it.
    """
    refuse_contradictions(recipe)
    found: Ready = _workflow(recipe.task).ready(recipe, device, progress=progress, beginning=beginning)
    return found


def inspect(folder: str | Path, question: Question) -> Inspection:
    """Look into a trained run as its task does.

    Args:
        folder: the run.
        question: what with.

    Raises:
        UserError: not a run, not trained yet; nothing that its model can read; no such layer or head.
    """
    run = Run.open(folder)
    task = _workflow(run.task)
    if not hasattr(task, "inspect"):
        raise UserError(f"models for {tasks.work(run.task)} cannot be looked into", place=str(folder))
    found: Inspection = task.inspect(run, question)
    return found
