"""Training and inspection of any task: its data and validation from a recipe, its attention from a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from multihead.batch import Batch
from multihead.data.stream import Stream, StreamPosition
from multihead.errors import UserError
from multihead.inspect.report import AlignedSentence
from multihead.recipe import Recipe, refuse_contradictions, tasks
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.progress import OnProgress
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.text.tokenizer import Tokenizer
from multihead.training import Validation


@dataclass(frozen=True)
class TaskSetup:
    """The data and validation of a training run, prepared from a recipe.

    Attributes:
        recipe: the recipe, with the settings that follow from the data.
        tokenizers: the run's tokenizers, see ``Run.create``.
        fingerprint: hash of the data and its preparation settings; another hash means another run.
        files: the files that were read.
        data: other facts about the data for environment.json.
        summary: description of the data, a line each.
        sizes: sizes of the data by name, for the table of a dry run.
        tokens_per_epoch: size of an epoch in ``Batch.tokens``.
        stream: returns the stream of training batches from a position.
        validate: validates a model, which is in evaluation mode, at a step.
        attention_maps: returns a trained model's attention maps of a few validation examples; none where it
            has no attention over a source.
        further_files: returns further files of a finished run by name, from its trained model.
    """

    recipe: Recipe[Settings]
    tokenizers: Sequence[Tokenizer]
    fingerprint: str
    files: Sequence[Path]
    data: Mapping[str, Any]
    summary: Sequence[str]
    sizes: Mapping[str, str]
    tokens_per_epoch: int
    stream: Callable[[StreamPosition], Stream[Batch]]
    validate: Callable[[nn.Module, int], Validation]
    attention_maps: Callable[[nn.Module], Sequence[AlignedSentence]] = lambda model: ()
    further_files: Callable[[nn.Module], Mapping[str, str]] = lambda model: {}


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None = None
) -> TaskSetup:
    """Prepare the data and validation of a recipe.

    Args:
        recipe: all settings.
        device: device of the model during validation.
        progress: called with the progress of data preparation.
        init_run: a run to start from (fine-tuning); its vocabulary is used.

    Raises:
        UserError: contradictory settings; bad data; settings that do not fit the data.
    """
    refuse_contradictions(recipe)
    found: TaskSetup = tasks.get_task(recipe.task).part("setup")(
        recipe, device, progress=progress, init_run=init_run
    )
    return found


def inspect(folder: str | Path, request: InspectionRequest) -> Inspection:
    """Inspect the attention of a trained run.

    Args:
        folder: the run folder.
        request: the input and the extent of the inspection.

    Raises:
        UserError: not a run; not trained yet; an input that the model cannot read; no such layer or head.
    """
    run = Run.open(folder)
    task = tasks.get_task(run.task)
    if task.inspect is None:
        raise UserError(f"models for {task.work} cannot be inspected", place=str(folder))
    inspection: Inspection = task.part("inspect")(run, request)
    return inspection
