"""Training data of the odd one out: sets of labelled images."""

from dataclasses import replace

import torch

from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system import randomness
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.images.data import image_setup
from multihead.tasks.images.prepare import prepare
from multihead.tasks.sets.image_sets import SetMaker
from multihead.tasks.sets.validation import Validator


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``."""
    data, training = recipe.data, recipe.training
    prepared = prepare(data, progress=progress)
    recipe = with_model(recipe, {"image_size": prepared.form.size, "channels": prepared.form.channels})
    train = SetMaker.of(prepared.train, data.set_size, training.seed)
    valid = SetMaker.of(prepared.valid, data.set_size, randomness.derive(data.seed, "validation sets"))
    made = image_setup(
        recipe,
        prepared,
        train.batch,
        Validator(valid, recipe, device),
        files=(*data.train, *data.valid),
        summary=[*prepared.report.split("\n"), f"sets of {data.set_size} images"],
        sizes={"images in a set": f"{data.set_size:,}"},
        batch_images=training.batch_sets,
    )
    fingerprint = f"{prepared.fingerprint} {data.set_size}"
    return replace(made, fingerprint=fingerprint, tokens_per_epoch=made.tokens_per_epoch * data.set_size)
