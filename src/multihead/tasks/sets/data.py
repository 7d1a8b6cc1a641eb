"""Training data of the odd one out: sets of labelled images."""

import torch

from multihead.data.images.stream import ImageStream
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system import randomness
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.images.data import named_files
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
    return TaskSetup(
        recipe=recipe,
        tokenizers=(),
        fingerprint=f"{prepared.fingerprint} {data.set_size}",
        files=named_files(data),
        data={"images": len(prepared.train), "held_out": len(prepared.valid)},
        summary=[*prepared.report.split("\n"), f"sets of {data.set_size} images"],
        sizes={
            "training images": f"{len(prepared.train):,}",
            "validation images": f"{len(prepared.valid):,}",
            "images in a set": f"{data.set_size:,}",
        },
        tokens_per_epoch=len(prepared.train) * data.set_size,
        stream=lambda position: ImageStream(
            len(prepared.train),
            train.batch,
            batch_images=training.batch_sets,
            seed=training.seed,
            position=position,
        ),
        validate=Validator(valid, recipe, device),
    )
