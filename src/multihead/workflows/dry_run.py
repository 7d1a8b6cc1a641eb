"""Dry run: prepare the data, try the largest batch, estimate memory and training time."""

import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from multihead.data.stream import StreamPosition
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system import hardware
from multihead.tasks.base import setup
from multihead.training import disk_space as space
from multihead.training import optimizers
from multihead.training.cuda_graphs import make_updater
from multihead.workflows.new_model import new_model
from multihead.workflows.train import TrainObserver

TIMED = 5
"""Updates timed for the estimate, after a warmup with the largest batch."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The findings of a dry run.

    Attributes:
        recipe: the recipe with all settings resolved.
        sizes: sizes of the data by name, as text.
        device: device name.
        dtype: precision of matrix products.
        parameters: number of the model's parameters.
        batches_per_epoch: number of micro-batches per epoch.
        largest_batch: counts of the largest batch (by padded size), by name.
        peak_memory: peak resident memory of the process in bytes; on a GPU, peak memory reserved there.
        space: most bytes that the checkpoints take.
        free: bytes free for the run folder.
        seconds_per_update: estimated time of an update.
        tokens_per_second: throughput in target tokens (or images).
    """

    recipe: Recipe[Settings]
    sizes: Mapping[str, str]
    device: str
    dtype: str
    parameters: int
    batches_per_epoch: int
    largest_batch: Mapping[str, int]
    peak_memory: int
    space: int
    free: int
    seconds_per_update: float
    tokens_per_second: float

    @property
    def updates(self) -> int:
        """Updates of the training; within ``training.minutes``, as many as they are enough for."""
        steps: int = self.recipe.training.steps
        if not self.recipe.training.minutes:
            return steps
        return min(steps, int(60 * self.recipe.training.minutes / self.seconds_per_update))

    @property
    def epochs(self) -> float:
        """Epochs of the training."""
        batches: int = self.updates * self.recipe.training.accumulate
        return batches / self.batches_per_epoch

    @property
    def hours(self) -> float:
        """Estimated time of all updates, without validations."""
        return self.seconds_per_update * self.updates / 3600


def dry_run(
    recipe: Recipe[Settings], observer: TrainObserver, *, init: Path | None = None, folder: Path | None = None
) -> DryRun:
    """Prepare the data, make an update with the largest batch, time a few more; write no run folder.

    ``init`` is a run whose weights and vocabulary to start from, ``folder`` the run folder.
    """
    settings = recipe.training
    hardware.keep_memory()
    hardware.use_threads(settings.threads)
    device = hardware.pick_device(settings.device)
    init_run = Run.open(init) if init else None
    task = setup(recipe, device, progress=observer.on_preparation, init_run=init_run)
    recipe = task.recipe
    observer.on_data(task.summary, task.tokens_per_epoch)
    model = new_model(recipe, device, init_run).train()
    updater = make_updater(model, optimizers.make_optimizer(model, settings), settings, device)
    stream = task.stream(StreamPosition())
    largest = stream.largest()
    updater.update(1, [largest])
    began = time.perf_counter()
    batches = [batch for _, (batch, _) in zip(range(TIMED), stream, strict=False)]
    # For a GPU, workers prepare batches in parallel, and a shape is captured at its second update.
    preparation = 0.0 if device.type == "cuda" else time.perf_counter() - began
    for batch in 2 * batches if device.type == "cuda" else []:
        updater.update(1, [batch])
    updater.synchronize()
    began = time.perf_counter()
    for batch in batches:
        updater.update(2, [batch])
    updater.synchronize()
    seconds = preparation + time.perf_counter() - began
    tokens = sum(batch.tokens for batch in batches)
    per_epoch = stream.batches_an_epoch()
    return DryRun(
        recipe=recipe,
        sizes=task.sizes,
        device=str(device),
        dtype=hardware.training_precision(settings.precision, device),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        batches_per_epoch=per_epoch,
        largest_batch=largest.counts,
        peak_memory=_peak_memory(device),
        space=space.bytes_needed(model, settings),
        free=space.free(folder or Path()),
        seconds_per_update=seconds / TIMED * settings.accumulate,
        tokens_per_second=tokens / seconds,
    )


def _peak_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    # In KiB, but in bytes on macOS.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
