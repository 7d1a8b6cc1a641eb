"""What a training would be: read the data, try the largest batch, train nothing."""

import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from multihead import hardware
from multihead.data.batches import Position
from multihead.data.prepare import Prepared, prepare
from multihead.recipe import Recipe
from multihead.settings import Settings
from multihead.training import optimizers
from multihead.training.update import Updater
from multihead.workflows.train import Observer, batches, new_model, resolved

TIMED = 5
"""Updates timed for the estimate, after the largest batch has warmed everything up."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What was found.

    Attributes:
        recipe: with everything filled in.
        prepared: the corpus.
        parameters: of the model.
        lengths: pieces a sentence, by side: median, 99 % quantile, maximum.
        batches_an_epoch: how many updates an epoch has (before accumulation).
        epochs: how often the corpus is read in ``training.steps``.
        largest_batch: sentences and padded length of the batch with most places.
        peak_memory: bytes that the process held at most, resident.
        seconds_an_update: of ordinary batches.
        tokens_a_second: target tokens.
    """

    recipe: Recipe[Settings]
    prepared: Prepared
    device: str
    dtype: str
    parameters: int
    lengths: Mapping[str, tuple[float, float, int]]
    batches_an_epoch: int
    epochs: float
    largest_batch: tuple[int, int]
    peak_memory: int
    seconds_an_update: float
    tokens_a_second: float

    @property
    def hours(self) -> float:
        """Estimated time of all updates, validations not counted."""
        return self.seconds_an_update * self.recipe.training.steps / 3600


def dry_run(recipe: Recipe[Settings], observer: Observer) -> DryRun:
    """Prepare the corpus, run the largest batch forward and backward, time a few updates; keep nothing."""
    settings = recipe.training
    hardware.keep_memory()
    hardware.use_threads(settings.threads)
    device = hardware.pick_device(settings.device)
    prepared = prepare(recipe.data, recipe.tokenizer, seed=settings.seed, progress=observer.preparing)
    recipe = resolved(recipe, prepared)
    model = new_model(recipe, device).train()
    updater = Updater(model, optimizers.make_optimizer(model, settings), settings, device)
    stream = batches(recipe, prepared, Position())
    largest = stream.largest()
    updater.update(1, [largest])
    tokens, began = 0, time.perf_counter()
    for number, (batch, _) in zip(range(TIMED), stream, strict=False):
        updater.update(number + 2, [batch])
        tokens += batch.tokens
    seconds = time.perf_counter() - began
    an_epoch = len(stream.plan(0))
    return DryRun(
        recipe=recipe,
        prepared=prepared,
        device=str(device),
        dtype=str(updater.dtype).removeprefix("torch."),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        lengths={
            "source": _spread(prepared.train.source_lengths),
            "target": _spread(prepared.train.target_lengths),
        },
        batches_an_epoch=an_epoch,
        epochs=settings.steps * settings.accumulate / an_epoch,
        largest_batch=(largest.target_BT.shape[0], largest.target_BT.shape[1]),
        peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        seconds_an_update=seconds / TIMED * settings.accumulate,
        tokens_a_second=tokens / seconds,
    )


def _spread(lengths: np.ndarray) -> tuple[float, float, int]:
    return float(np.median(lengths)), float(np.quantile(lengths, 0.99)), int(lengths.max())
