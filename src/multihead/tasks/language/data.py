"""Training data of language models, from text files."""

from collections.abc import Sequence

import torch

from multihead.errors import UserError
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.addresses import locate_file
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.language.packed import PackedText, pack
from multihead.tasks.language.validation import Validator
from multihead.tasks.language.windows import WindowStream


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``."""
    init_tokenizer = init_run.fit_for("language").tokenizers()[0] if init_run else None
    text = pack(recipe.data, recipe.tokenizer, progress=progress, init_tokenizer=init_tokenizer)
    recipe = with_model(recipe, {"vocab_size": text.tokenizer.vocab_size})
    context: int = recipe.model.context  # type: ignore[attr-defined]
    if len(text.valid) < 2:
        raise UserError(
            "no text is left for validation",
            place="data.valid_fraction",
            remedy="Raise it, or name a file in data.valid_files.",
        )
    return TaskSetup(
        recipe=recipe,
        tokenizers=(text.tokenizer,),
        fingerprint=text.fingerprint,
        files=[locate_file(recipe.data.dir, name) for name in (*recipe.data.files, *recipe.data.valid_files)],
        data={"tokens": len(text.train), "characters": text.characters[0]},
        summary=_summary(text),
        sizes={
            "training text": f"{text.characters[0]:,} characters, {len(text.train):,} tokens",
            "validation text": f"{text.characters[1]:,} characters, {len(text.valid):,} tokens",
            "vocabulary": f"{text.tokenizer.vocab_size:,}",
        },
        tokens_per_epoch=len(text.train),
        stream=lambda position: WindowStream(
            text.train,
            context=context,
            batch_tokens=recipe.training.batch_tokens,
            seed=recipe.training.seed,
            position=position,
        ),
        validate=Validator(text, recipe, device),
    )


def _summary(text: PackedText) -> Sequence[str]:
    lines = [
        f"training: {text.characters[0]:,} characters, {len(text.train):,} tokens",
        f"validation: {text.characters[1]:,} characters, {len(text.valid):,} tokens",
        f"vocabulary: {text.tokenizer.vocab_size:,} tokens",
    ]
    if any(text.unknown):
        lines.append(
            f"unknown: {text.unknown[0]:,} tokens of the training text, {text.unknown[1]:,} of the "
            "validation text"
        )
    return lines
