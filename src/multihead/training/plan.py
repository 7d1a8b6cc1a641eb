"""The plan of a training: where it is written, what it reads, how it is validated and when it ends."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from multihead.batch import Batch
from multihead.data.stream import Stream, StreamPosition
from multihead.recipe.settings import OptimisationSettings, ValidationSchedule
from multihead.run import Run
from multihead.training.ending import Clock
from multihead.training.outcome import Validation


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """Everything that a training needs besides its model and its observer.

    Attributes:
        run: the run folder, locked.
        stream: returns the stream of batches from a position.
        validate: validates the model, which is in evaluation mode, at a step.
        settings: training settings.
        validation: validation interval, metric and patience.
        device: device of the model.
        d_model: model width, for the noam schedule.
        clock: returns seconds, for the time limit.
        started: the clock's reading when the command started; None: now.
        finish: end the training now: with a cool-down (schedule wsd), or with the weights it has.
        longer: the newest state is the one before a cool-down, which is due later now, see ``extension``.
    """

    run: Run
    stream: Callable[[StreamPosition], Stream[Batch]]
    validate: Callable[[nn.Module, int], Validation]
    settings: OptimisationSettings
    validation: ValidationSchedule
    device: torch.device
    d_model: int = 1
    clock: Clock = time.monotonic
    started: float | None = None
    finish: bool = False
    longer: bool = False
