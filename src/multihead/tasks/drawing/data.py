"""Training data of text-to-image models, from captioned pictures."""

import torch

from multihead.data.images.stream import PictureStream
from multihead.errors import UserError
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.addresses import locate_file
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.drawing.caption_batches import CaptionBatches
from multihead.tasks.drawing.captioned import prepare
from multihead.tasks.drawing.validation import Validator


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``."""
    data, training = recipe.data, recipe.training
    found = prepare(data, recipe.tokenizer, progress=progress)
    if init_run is not None and init_run.tokenizers()[0].fingerprint != found.tokenizer.fingerprint:
        raise UserError(
            "its vocabulary differs from that of these captions",
            place=str(init_run.folder),
            remedy="Start from a run that was trained on the same captions.",
        )
    sizes = {
        "vocab_size": found.tokenizer.vocab_size,
        "text_length": found.text_length,
        "picture_size": found.form.size,
        "channels": found.form.channels,
    }
    recipe = with_model(recipe, sizes)
    batches = CaptionBatches(found, found.train)
    listed = [locate_file(data.dir, name) for name in (data.captions, data.pictures) if name]
    form = f"{found.form.size} x {found.form.size}, {'grey' if found.form.channels == 1 else 'colour'}"
    return TaskSetup(
        recipe=recipe,
        tokenizers=(found.tokenizer,),
        fingerprint=found.fingerprint,
        files=[path for path in listed if path.is_file()],
        data={"pictures": len(found.train), "held_out": len(found.valid)},
        summary=[
            f"training: {len(found.train):,} captioned pictures, {form}",
            f"validation: {len(found.valid):,} pictures, with captions not seen in training",
            f"vocabulary: {found.tokenizer.vocab_size:,} tokens; longest caption: {found.text_length}",
        ],
        sizes={"training pictures": f"{len(found.train):,}", "validation pictures": f"{len(found.valid):,}"},
        tokens_per_epoch=len(found.train),
        stream=lambda position: PictureStream(
            len(found.train),
            lambda indices, _: batches.batch(indices.tolist()),
            batch_pictures=training.batch_pictures,
            seed=training.seed,
            position=position,
        ),
        validate=Validator(CaptionBatches(found, found.valid), recipe, device),
    )
