"""Training data of text-to-image models, from captioned images."""

import torch

from multihead.errors import UserError
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.drawing.caption_batches import CaptionBatches
from multihead.tasks.drawing.captioned import prepare
from multihead.tasks.drawing.validation import Validator
from multihead.tasks.images.data import image_setup


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``."""
    data, training = recipe.data, recipe.training
    prepared = prepare(data, recipe.tokenizer, progress=progress)
    if init_run is not None and init_run.tokenizers()[0].fingerprint != prepared.tokenizer.fingerprint:
        raise UserError(
            "its vocabulary differs from the vocabulary of these captions",
            place=str(init_run.folder),
            remedy="Start from a run that was trained on the same captions.",
        )
    sizes = {
        "vocab_size": prepared.tokenizer.vocab_size,
        "text_length": prepared.text_length,
        "image_size": prepared.form.size,
        "channels": prepared.form.channels,
    }
    recipe = with_model(recipe, sizes)
    batches = CaptionBatches(prepared, prepared.train)
    size, colour = prepared.form.size, "grey" if prepared.form.channels == 1 else "colour"
    return image_setup(
        recipe,
        prepared,
        lambda indices, _: batches.batch(indices.tolist()),
        Validator(CaptionBatches(prepared, prepared.valid), recipe, device),
        files=[name for name in (data.captions, data.images) if name],
        summary=[
            f"training: {len(prepared.train):,} captioned images, {size} x {size}, {colour}",
            f"validation: {len(prepared.valid):,} images, with captions not seen in training",
            f"vocabulary: {prepared.tokenizer.vocab_size:,} tokens; longest caption: {prepared.text_length}",
        ],
        sizes={},
        batch_images=training.batch_images,
        tokenizers=(prepared.tokenizer,),
    )
