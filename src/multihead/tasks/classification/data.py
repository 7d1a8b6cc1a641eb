"""Training data of text classification, from tables of texts, or pairs of texts, and labels."""

import torch

from multihead.data.text_batches import TextsStream, collate_labelled, lengths
from multihead.errors import UserError
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.classification.validation import Validator
from multihead.tasks.masked.data import check_length, named_files, sizes, summary
from multihead.tasks.masked.texts import prepare_texts
from multihead.tasks.text_examples import bpe_dropout, pretrained_tokenizer


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``. Fine-tuning may start from a masked language model."""
    init_tokenizer = pretrained_tokenizer(init_run, "classification")
    training = recipe.training
    texts = prepare_texts(recipe.data, recipe.tokenizer, progress=progress, init_tokenizer=init_tokenizer)
    if len(texts.labels) < 2:
        classes = f'only the class "{texts.labels[0]}"' if texts.labels else "no class"
        fact = f"the training files have {classes}; at least 2 are needed"
        raise UserError(fact, place="data.label_field", remedy="Check that it names the label column.")
    names = recipe.data.class_names or texts.labels
    if len(names) != len(texts.labels):
        fact = f"{len(names)} names for {len(texts.labels)} classes ({', '.join(texts.labels)})"
        raise UserError(fact, place="data.class_names")
    recipe = with_model(
        recipe,
        {"vocab_size": texts.tokenizer.vocab_size, "classes": len(texts.labels), "class_names": names},
    )
    check_length(recipe)
    max_length = recipe.data.max_length
    used = lengths(texts.train, max_length)
    dropout = bpe_dropout(recipe, texts.tokenizer)

    return TaskSetup(
        recipe=recipe,
        tokenizers=(texts.tokenizer,),
        fingerprint=texts.fingerprint,
        files=named_files(recipe.data),
        data={"texts": len(texts.train), "empty": texts.empty, "labels": list(texts.labels)},
        summary=[*summary(texts, max_length), f"classes: {', '.join(names)}"],
        sizes={**sizes(texts), "classes": ", ".join(names)},
        tokens_per_epoch=int(used.sum()) + (3 if recipe.data.pairs else 2) * len(used),
        stream=lambda position: TextsStream(
            used,
            lambda rows, epoch: collate_labelled(
                texts.train, rows, texts.tokenizer, max_length, dropout=dropout, epoch=epoch
            ),
            batch_tokens=training.batch_tokens,
            seed=training.seed,
            position=position,
            folder=texts.train.folder,
        ),
        validate=Validator(texts, recipe, device),
    )
