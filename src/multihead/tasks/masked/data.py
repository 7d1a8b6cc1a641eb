"""Training data of masked language models: masked texts and pairs of texts."""

from collections.abc import Sequence
from pathlib import Path

import torch

from multihead.data.store import TokenStore
from multihead.data.text_batches import MULTIPLE, TextsStream, lengths
from multihead.errors import UserError
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.addresses import locate_file
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.classification.settings import DataSettings as Labelled
from multihead.tasks.masked.mask_tokens import with_mask
from multihead.tasks.masked.masking import MaskedBatches
from multihead.tasks.masked.settings import DataSettings
from multihead.tasks.masked.texts import PreparedTexts, prepare_texts
from multihead.tasks.masked.validation import Validator


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``."""
    init_tokenizer = with_mask(init_run.fit_for("masked").tokenizers()[0]) if init_run else None
    training = recipe.training
    texts = prepare_texts(recipe.data, recipe.tokenizer, progress=progress, init_tokenizer=init_tokenizer)
    recipe = with_model(recipe, {"vocab_size": texts.tokenizer.vocab_size})
    max_length = recipe.data.max_length

    def masked_batches(store: TokenStore, seed: int) -> MaskedBatches:
        return MaskedBatches(
            store,
            texts.tokenizer,
            max_length=max_length,
            masked=recipe.data.masked,
            next_sentence=recipe.data.next_sentence,
            seed=seed,
        )

    used, collate = lengths(texts.train, max_length), masked_batches(texts.train, training.seed)
    return TaskSetup(
        recipe=recipe,
        tokenizers=(texts.tokenizer,),
        fingerprint=texts.fingerprint,
        files=named_files(recipe.data),
        data={"texts": len(texts.train), "empty": texts.empty},
        summary=summary(texts, max_length),
        sizes=sizes(texts),
        tokens_per_epoch=int(used.sum()) + 2 * len(used),
        stream=lambda position: TextsStream(
            used,
            collate,
            batch_tokens=training.batch_tokens,
            seed=training.seed,
            position=position,
            folder=texts.train.folder,
        ),
        # The masks depend on data.seed alone, so that runs with different training seeds are comparable.
        validate=Validator(texts, masked_batches(texts.valid, recipe.data.seed), recipe, device),
    )


def check_length(recipe: Recipe[Settings]) -> None:
    """Raise an error if padded inputs can exceed the model's positions."""
    longest = -(-recipe.data.max_length // MULTIPLE) * MULTIPLE
    limit = getattr(recipe.model, "max_positions", longest)
    if longest > limit:
        fact = f"inputs have up to {longest} positions, but the model has {limit}"
        remedy = f"Set data.max_length to at most {limit // MULTIPLE * MULTIPLE}."
        raise UserError(fact, place="model.max_positions", remedy=remedy)


def named_files(data: DataSettings | Labelled) -> list[Path]:
    """Return the training and validation files."""
    return [locate_file(data.dir, name) for name in (*data.files, *data.valid_files)]


def sizes(texts: PreparedTexts) -> dict[str, str]:
    """Return the sizes of the data by name, for a dry run's table."""
    return {
        "training texts": f"{len(texts.train):,}",
        "validation texts": f"{len(texts.valid):,}",
        "vocabulary": f"{texts.tokenizer.vocab_size:,}",
    }


def summary(texts: PreparedTexts, max_length: int) -> Sequence[str]:
    """Return a description of the data, as lines."""
    lines = [f"training: {len(texts.train):,} texts; validation: {len(texts.valid):,} texts"]
    if texts.empty:
        lines.append(f"{texts.empty:,} empty texts left out (the first: {', '.join(texts.places)})")
    cut = int((texts.train.source_lengths > max_length - 2).sum())
    if cut:
        lines.append(f"{cut:,} texts are longer than {max_length} tokens and are truncated")
    lines.append(f"vocabulary: {texts.tokenizer.vocab_size:,} tokens")
    return lines
