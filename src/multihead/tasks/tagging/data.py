"""Training data of tagging: CoNLL files, or generated sequences."""

from pathlib import Path

import torch

from multihead.data.text_batches import TextsStream
from multihead.errors import UserError
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.masked.data import check_length
from multihead.tasks.tagging.tagged import PreparedTags, prepare_tags
from multihead.tasks.tagging.validation import Validator
from multihead.tasks.text_examples import bpe_dropout, pretrained_tokenizer


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``. Fine-tuning may start from a masked language model."""
    init_tokenizer = pretrained_tokenizer(init_run, "tagging")
    data, training = recipe.data, recipe.training
    prepared = prepare_tags(data, recipe.tokenizer, progress=progress, init_tokenizer=init_tokenizer)
    if len(prepared.names) < 2:
        fact = f'the training sentences have one tag only, "{prepared.names[0]}"'
        raise UserError(fact, place="data.tag_column", remedy="Check that it is the column of the tags.")
    recipe = with_model(
        recipe,
        {
            "vocab_size": prepared.tokenizer.vocab_size,
            "classes": len(prepared.names),
            "class_names": prepared.names,
        },
    )
    check_length(recipe)
    lengths = prepared.train.lengths(data.max_length)
    dropout = bpe_dropout(recipe, prepared.tokenizer)
    names = ", ".join(prepared.names)
    return TaskSetup(
        recipe=recipe,
        tokenizers=(prepared.tokenizer,),
        fingerprint=prepared.fingerprint,
        files=[Path(data.dir) / name for name in (*data.files, *data.valid_files)],
        data={"sentences": len(lengths), "tags": list(prepared.names)},
        summary=summary(prepared, data.max_length),
        sizes={
            "training sentences": f"{len(lengths):,}",
            "validation sentences": f"{len(prepared.valid.encoded):,}",
            "vocabulary": f"{prepared.tokenizer.vocab_size:,}",
            "tags": names,
        },
        tokens_per_epoch=int(lengths.sum()) + 2 * len(lengths),
        stream=lambda position: TextsStream(
            lengths,
            lambda rows, epoch: prepared.train.batch(
                rows, prepared.tokenizer, data.max_length, dropout=dropout, epoch=epoch
            ),
            batch_tokens=training.batch_tokens,
            seed=training.seed,
            position=position,
        ),
        validate=Validator(prepared, recipe, device),
    )


def summary(prepared: PreparedTags, max_length: int) -> list[str]:
    """Return a description of the data, as lines."""
    texts = prepared.train
    words = sum(map(len, texts.tags))
    valid = len(prepared.valid.tags)
    lines = [
        f"{len(texts.tags):,} sentences of {words:,} words for training, {valid:,} for validation",
        f"{prepared.tokenizer.vocab_size:,} tokens in the vocabulary; tags: {', '.join(prepared.names)}",
    ]
    longer = sum(len(sentence.ids) > max_length - 2 for sentence in texts.encoded)
    if longer:
        lines.append(f"{longer:,} sentences of more than {max_length - 2:,} tokens are truncated")
    return lines
