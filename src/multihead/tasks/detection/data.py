"""Training data of object detection: generated scenes, or folders in COCO's format."""

from pathlib import Path

import torch

from multihead.batch import SceneBatch
from multihead.data.images.stream import ImageStream
from multihead.data.stream import StreamPosition
from multihead.errors import UserError
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.detection.objects import PreparedScenes, SceneBatches, prepare_scenes
from multihead.tasks.detection.settings import DataSettings
from multihead.tasks.detection.validation import Validator


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``."""
    prepared = prepare_scenes(recipe.data, progress=progress)
    sizes = {"image_size": prepared.size, "classes": len(prepared.names), "class_names": prepared.names}
    recipe = with_model(recipe, sizes)
    _check_queries(recipe, prepared)
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
            "classes": f"{len(prepared.names):,}",
        },
        tokens_per_epoch=len(prepared.train),
        stream=lambda position: stream(recipe, prepared, position),
        validate=Validator(prepared.valid, recipe, device),
    )


def stream(
    recipe: Recipe[Settings], prepared: PreparedScenes, position: StreamPosition
) -> ImageStream[SceneBatch]:
    """Return the endless stream of training batches from a position."""
    training = recipe.training
    return ImageStream(
        len(prepared.train),
        SceneBatches(prepared.train, training.seed, training.flip).batch,
        batch_images=training.batch_images,
        seed=training.seed,
        position=position,
    )


def named_files(data: DataSettings) -> list[Path]:
    """Return the files that the settings name; folders of images are hashed elsewhere."""
    paths = [Path(data.dir) / name for name in (*data.train, *data.valid)]
    return [path for path in paths if path.is_file()]


def _check_queries(recipe: Recipe[Settings], prepared: PreparedScenes) -> None:
    queries = getattr(recipe.model, "queries", prepared.most)
    if queries < prepared.most:
        fact = f"{queries} object queries, but an image has {prepared.most} objects"
        raise UserError(fact, place="model.queries", remedy=f"Set it to at least {prepared.most}.")
    model = recipe.model
    if getattr(model, "proposals", False):
        places = (prepared.size // model.patch_size) ** 2  # type: ignore[attr-defined]
        if queries > places:
            fact = f"{queries} object queries, but the encoder proposes a box at each of {places} places"
            remedy = f"Set it to at most {places}, or halve model.patch_size."
            raise UserError(fact, place="model.queries", remedy=remedy)
