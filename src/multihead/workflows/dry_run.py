"""What a training would be: read the data, try the largest batch, train nothing."""

import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from multihead import hardware
from multihead.data.stream import Position
from multihead.recipe import Recipe
from multihead.run import Run
from multihead.settings import Settings
from multihead.training import optimizers
from multihead.training.cuda_graphs import make_updater
from multihead.workflows.tasks import ready
from multihead.workflows.train import Observer, new_model

TIMED = 5
"""Updates timed for the estimate, after the largest batch has warmed everything up."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What was found.

    Attributes:
        recipe: with everything filled in.
        sizes: of the data, by name, in words.
        parameters: of the model.
        batches_an_epoch: how many updates an epoch has (before accumulation).
        epochs: how often the corpus is read in ``training.steps``.
        largest_batch: what is in the batch with most places: its counts, by name.
        peak_memory: bytes that the process held at most, resident; on a GPU what tensors held there.
        seconds_an_update: of ordinary batches.
        tokens_a_second: target tokens (or pictures).
    """

    recipe: Recipe[Settings]
    sizes: Mapping[str, str]
    device: str
    dtype: str
    parameters: int
    batches_an_epoch: int
    epochs: float
    largest_batch: Mapping[str, int]
    peak_memory: int
    seconds_an_update: float
    tokens_a_second: float

    @property
    def hours(self) -> float:
        """Estimated time of all updates, validations not counted."""
        steps: int = self.recipe.training.steps
        return self.seconds_an_update * steps / 3600


def dry_run(recipe: Recipe[Settings], observer: Observer, *, init: Path | None = None) -> DryRun:
    """Prepare the corpus, run the largest batch forward and backward, time a few updates; keep nothing.

    ``init`` is the run whose model and vocabulary to begin with.
    """
    settings = recipe.training
    hardware.keep_memory()
    hardware.use_threads(settings.threads)
    device = hardware.pick_device(settings.device)
    beginning = Run.open(init) if init else None
    made = ready(recipe, device, progress=observer.preparing, beginning=beginning)
    recipe = made.recipe
    model = new_model(recipe, device, beginning).train()
    trained = make_updater(model, optimizers.make_optimizer(model, settings), settings, device)
    stream = made.stream(Position())
    largest = stream.largest()
    trained.update(1, [largest])
    began = time.perf_counter()
    batches = [batch for _, (batch, _) in zip(range(TIMED), stream, strict=False)]
    # For a GPU other processes make them meanwhile; and it records an update when a shape is seen again.
    making = 0.0 if device.type == "cuda" else time.perf_counter() - began
    for batch in 2 * batches if device.type == "cuda" else []:
        trained.update(1, [batch])
    trained.synchronize()
    began = time.perf_counter()
    for batch in batches:
        trained.update(2, [batch])
    trained.synchronize()
    seconds = making + time.perf_counter() - began
    tokens = sum(batch.tokens for batch in batches)
    an_epoch = stream.batches_an_epoch()
    return DryRun(
        recipe=recipe,
        sizes=made.sizes,
        device=str(device),
        dtype=hardware.training_precision(settings.precision, device),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        batches_an_epoch=an_epoch,
        epochs=settings.steps * settings.accumulate / an_epoch,
        largest_batch=largest.counts,
        peak_memory=_peak_memory(device),
        seconds_an_update=seconds / TIMED * settings.accumulate,
        tokens_a_second=tokens / seconds,
    )


def _peak_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device)
    # In KiB, but for macOS.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
