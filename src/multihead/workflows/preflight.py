"""All refusals and cautions of a training, cheapest first: without data, with data, with run and model."""

from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from multihead.data.hashes import file_sha256
from multihead.errors import UserError
from multihead.recipe import Recipe, refuse_at_once, resume_recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.run.files import check_place
from multihead.run.names import WEIGHTS
from multihead.system import hardware, parallel
from multihead.tasks.base import TaskSetup
from multihead.training import Training
from multihead.training import disk_space as space
from multihead.training.distributed.shards import refuse_settings, refuse_too_many
from multihead.workflows.same_start import refuse_other_data, refuse_other_machines

INIT = "init"
"""Key in environment.json: SHA-256 of the initial weights; "" for random initialisation."""


def preflight(
    recipe: Recipe[Settings], folder: Path, device: torch.device, prepare: Callable[[], TaskSetup]
) -> TaskSetup:
    """Check everything that can be known before the run folder is opened; return the data.

    Args:
        recipe: all settings.
        folder: the run folder.
        device: the device of the training.
        prepare: prepares the data, after the checks that do not need it.

    Raises:
        UserError: the first fact that prevents the training.
    """
    settings = recipe.training
    hardware.training_precision(settings.precision, device)
    refuse_other_machines(settings, device)
    refuse_too_many(settings.accumulate)
    refuse_settings(settings)
    if parallel.first():
        check_place(folder)
        if Run.exists(folder):
            refuse_at_once(Run.open(folder).recipe, recipe, place=str(folder))
    task: TaskSetup = parallel.in_turn(prepare)
    refuse_other_data(task.fingerprint)
    return task


def cautions(recipe: Recipe[Settings], device: torch.device) -> Iterator[str]:
    """Yield a caution for each setting that suits the run's length or this machine badly."""
    if recipe.training.precision == "bf16" and not hardware.has_fast_bf16(device):
        yield (
            "caution: this processor emulates bf16, which may be many times slower than fp32 "
            "(training.precision bf16): auto chooses what is fastest"
        )
    if recipe.training.shard_weights and parallel.world() == 1:
        yield "caution: one process has no weights to divide (training.shard_weights): start several"
    steps, warmup, every = recipe.training.steps, recipe.training.warmup_steps, recipe.validation.every
    if steps <= warmup:
        yield (
            f"caution: the learning rate still rises when training ends (training.steps {steps:,}, "
            f"training.warmup_steps {warmup:,})"
        )
    if steps < every:
        yield (
            f"caution: no validation before training ends (training.steps {steps:,}, "
            f"validation.every {every:,}): the last weights become the model"
        )


def check_resumed(run: Run, task: TaskSetup, init_run: Run | None) -> Recipe[Settings]:
    """Return the recipe to resume a locked run by.

    Raises:
        UserError: the run was started with other settings, initial weights, data or vocabulary.
    """
    place = str(run.folder)
    recipe = resume_recipe(run.recipe, task.recipe, place=place)
    data, init = run.environment["data"], weights_hash(init_run)
    if init and data.get(INIT, init) != init:
        raise UserError(
            "this run was started from other weights than those of --init",
            place=place,
            remedy="Resume it without --init, or choose another --run folder.",
        )
    if data.get("fingerprint") != task.fingerprint:
        fact = "this run was started with other data: file contents or preparation settings differ"
        remedy = "Restore the old files, or choose another --run folder."
        raise UserError(fact, place=place, remedy=remedy)
    tokenizers = run.tokenizers() if task.tokenizers else ()
    if any(a.fingerprint != b.fingerprint for a, b in zip(task.tokenizers, tokenizers, strict=False)):
        fact = "the vocabulary now learned from the same data differs from the run's"
        remedy = "Install the version of tokenizers in environment.json, or choose another --run folder."
        raise UserError(fact, place=place, remedy=remedy)
    return recipe


def check_training(training: Training, folder: Path) -> None:
    """Check a restored training.

    Raises:
        UserError: the disk cannot hold its checkpoints; the run has already made more updates.
    """
    if parallel.first():
        space.check(folder, training.model, training.settings)
    done, steps = training.progress.step, training.settings.steps
    if done > steps:
        raise UserError(
            f"the run has already made {done:,} updates, more than training.steps {steps:,}",
            place=str(folder),
            remedy=f"Set training.steps to at least {done}, or choose another --run folder.",
        )


def weights_hash(init_run: Run | None) -> str:
    """Return the SHA-256 of the initial weights; "" for random initialisation."""
    path = init_run.folder / WEIGHTS if init_run else None
    return file_sha256(path) if path and path.is_file() else ""
