"""Training data of image classification, from image files."""

from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Protocol

import torch
from torch import nn

from multihead.batch import Batch
from multihead.data.images.stream import ImageStream
from multihead.data.plan import Indices
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.addresses import locate_file
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.images.batches import ImageBatches
from multihead.tasks.images.prepare import PreparedImages, prepare
from multihead.tasks.images.validation import Validator
from multihead.text.tokenizer import Tokenizer
from multihead.training import Validation


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``."""
    prepared = prepare(recipe.data, progress=progress)
    recipe = with_model(recipe, model_sizes(prepared))
    training = recipe.training
    return image_setup(
        recipe,
        prepared,
        ImageBatches(prepared.train, training.seed, training).batch,
        Validator(prepared.valid, recipe, device),
        files=(*recipe.data.train, *recipe.data.valid),
        summary=prepared.report.split("\n"),
        sizes={"classes": f"{len(prepared.class_names):,}"},
        batch_images=training.batch_images,
    )


def model_sizes(prepared: PreparedImages) -> dict[str, object]:
    """Return the [model] settings that follow from the images."""
    return {
        "image_size": prepared.form.size,
        "channels": prepared.form.channels,
        "classes": len(prepared.class_names),
        "class_names": prepared.class_names,
    }


class _Prepared(Protocol):
    """Images prepared for training: training and validation images, and a hash of how they were made."""

    @property
    def train(self) -> Sized: ...
    @property
    def valid(self) -> Sized: ...
    @property
    def fingerprint(self) -> str: ...


def image_setup(
    recipe: Recipe[Settings],
    prepared: _Prepared,
    batch: Callable[[Indices, int], Batch],
    validate: Callable[[nn.Module, int], Validation],
    *,
    files: Sequence[str],
    summary: Sequence[str],
    sizes: Mapping[str, str],
    batch_images: int,
    tokenizers: Sequence[Tokenizer] = (),
) -> TaskSetup:
    """Return the setup of a task whose examples are images; arguments as of ``TaskSetup``, and:

    Args:
        prepared: the images.
        batch: (image indices, epoch) -> batch.
        files: names of the files and folders that list images; folders are hashed elsewhere.
        sizes: further sizes of the data.
        batch_images: images in a batch.
    """
    count, held_out = len(prepared.train), len(prepared.valid)
    paths = [locate_file(recipe.data.dir, name) for name in files]
    counted = {"training images": f"{count:,}", "validation images": f"{held_out:,}"}
    return TaskSetup(
        recipe=recipe,
        tokenizers=tokenizers,
        fingerprint=prepared.fingerprint,
        files=[path for path in paths if path.is_file()],
        data={"images": count, "held_out": held_out},
        summary=summary,
        sizes={**counted, **sizes},
        tokens_per_epoch=count,
        stream=lambda position: ImageStream(
            count, batch, batch_images=batch_images, seed=recipe.training.seed, position=position
        ),
        validate=validate,
    )
