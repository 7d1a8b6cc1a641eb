"""Training data of object detection: generated scenes, or folders in COCO's format."""

import torch

from multihead.errors import UserError
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.detection.objects import PreparedScenes, prepare_scenes
from multihead.tasks.detection.scene_batches import SceneBatches
from multihead.tasks.detection.validation import Validator
from multihead.tasks.images.data import image_setup


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``."""
    prepared = prepare_scenes(recipe.data, progress=progress)
    sizes = {"image_size": prepared.size, "classes": len(prepared.names), "class_names": prepared.names}
    recipe = with_model(recipe, sizes)
    _check_queries(recipe, prepared)
    training = recipe.training
    return image_setup(
        recipe,
        prepared,
        SceneBatches(prepared.train, training.seed, training.flip, training.scale_jitter).batch,
        Validator(prepared.valid, recipe, device),
        files=(*recipe.data.train, *recipe.data.valid),
        summary=prepared.report.split("\n"),
        sizes={"classes": f"{len(prepared.names):,}"},
        batch_images=training.batch_images,
    )


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
