"""What a training would be: read the data, try the largest batch, train nothing."""

import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from multihead import hardware
from multihead.data.stream import Position
from multihead.recipe import Recipe
from multihead.run import Run
from multihead.settings import Settings
from multihead.training import optimizers
from multihead.training.update import Updater
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
        peak_memory: bytes that the process held at most, resident.
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
    updater = Updater(model, optimizers.make_optimizer(model, settings), settings, device)
    stream = made.stream(Position())
    largest = stream.largest()
    updater.update(1, [largest])
    tokens, began = 0, time.perf_counter()
    for number, (batch, _) in zip(range(TIMED), stream, strict=False):
        updater.update(number + 2, [batch])
        tokens += batch.tokens
    seconds = time.perf_counter() - began
    an_epoch = stream.batches_an_epoch()
    return DryRun(
        recipe=recipe,
        sizes=made.sizes,
        device=str(device),
        dtype=str(updater.dtype).removeprefix("torch."),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        batches_an_epoch=an_epoch,
        epochs=settings.steps * settings.accumulate / an_epoch,
        largest_batch=largest.counts,
        peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        seconds_an_update=seconds / TIMED * settings.accumulate,
        tokens_a_second=tokens / seconds,
    )
