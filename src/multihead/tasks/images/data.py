"""Training data of image classification, from image files."""

from pathlib import Path

import torch

from multihead.batch import ImageBatch
from multihead.data.images.stream import ImageStream
from multihead.data.stream import StreamPosition
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.addresses import locate_file
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.images.batches import ImageBatches
from multihead.tasks.images.prepare import PreparedImages, prepare
from multihead.tasks.images.settings import DataSettings
from multihead.tasks.images.validation import Validator


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``."""
    prepared = prepare(recipe.data, progress=progress)
    recipe = with_model(recipe, model_sizes(prepared))
    return TaskSetup(
        recipe=recipe,
        tokenizers=(),
        fingerprint=prepared.fingerprint,
        files=named_files(recipe.data),
        data={"images": len(prepared.train), "held_out": len(prepared.valid)},
        summary=prepared.report.split("\n"),
        sizes={
            "training images": f"{len(prepared.train):,}",
            "validation images": f"{len(prepared.valid):,}",
            "classes": f"{len(prepared.class_names):,}",
        },
        tokens_per_epoch=len(prepared.train),
        stream=lambda position: stream(recipe, prepared, position),
        validate=Validator(prepared.valid, recipe, device),
    )


def model_sizes(prepared: PreparedImages) -> dict[str, object]:
    """Return the [model] settings that follow from the images."""
    return {
        "image_size": prepared.form.size,
        "channels": prepared.form.channels,
        "classes": len(prepared.class_names),
        "class_names": prepared.class_names,
    }


def stream(
    recipe: Recipe[Settings], prepared: PreparedImages, position: StreamPosition
) -> ImageStream[ImageBatch]:
    """Return the endless stream of training batches from a position."""
    training = recipe.training
    return ImageStream(
        len(prepared.train),
        ImageBatches(prepared.train, training.seed, training).batch,
        batch_images=training.batch_images,
        seed=training.seed,
        position=position,
    )


def named_files(data: DataSettings) -> list[Path]:
    """Return the files that list images. Folders are left out: they are hashed elsewhere."""
    paths = [locate_file(data.dir, name) for name in (*data.train, *data.valid)]
    return [path for path in paths if path.is_file()]
