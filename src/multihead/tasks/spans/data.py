"""Training data of question answering: tables of questions, texts and answers, or generated ones."""

from pathlib import Path

import torch

from multihead.data.text_batches import SPECIALS, TextsStream
from multihead.recipe import Recipe, with_model
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.masked.data import check_length
from multihead.tasks.spans.questions import PLACES, PreparedQuestions, prepare_questions
from multihead.tasks.spans.validation import Validator
from multihead.tasks.text_examples import pretrained_tokenizer


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``. Fine-tuning may start from a masked language model."""
    init_tokenizer = pretrained_tokenizer(init_run, "spans")
    data, training = recipe.data, recipe.training
    check_length(recipe)
    prepared = prepare_questions(data, recipe.tokenizer, progress=progress, init_tokenizer=init_tokenizer)
    recipe = with_model(
        recipe,
        {"vocab_size": prepared.tokenizer.vocab_size, "unanswerable": prepared.unanswerable > 0},
    )
    lengths = prepared.train.lengths()
    count = len(prepared.train.given)
    return TaskSetup(
        recipe=recipe,
        tokenizers=(prepared.tokenizer,),
        fingerprint=prepared.fingerprint,
        files=[Path(data.dir) / name for name in (*data.files, *data.valid_files)],
        data={"questions": count, "unanswerable": prepared.unanswerable, "windows": len(lengths)},
        summary=summary(prepared),
        sizes={
            "training questions": f"{count:,}",
            "training windows": f"{len(lengths):,}",
            "validation questions": f"{len(prepared.valid.given):,}",
            "vocabulary": f"{prepared.tokenizer.vocab_size:,}",
        },
        tokens_per_epoch=int(lengths.sum()) + SPECIALS * len(lengths),
        stream=lambda position: TextsStream(
            lengths,
            lambda rows, epoch: prepared.train.batch(rows, prepared.tokenizer),
            batch_tokens=training.batch_tokens,
            seed=training.seed,
            position=position,
        ),
        validate=Validator(prepared, recipe, device),
    )


def summary(prepared: PreparedQuestions) -> list[str]:
    """Return a description of the data, a line each."""
    train = prepared.train
    lines = [
        f"training: {len(train.given):,} questions in {len(train.windows):,} windows, "
        f"{prepared.unanswerable:,} without an answer; validation: {len(prepared.valid.given):,} questions",
        f"vocabulary: {prepared.tokenizer.vocab_size:,} tokens",
    ]
    skipped = [*train.skipped, *prepared.valid.skipped]
    if skipped:
        first = ", ".join(skipped[:PLACES])
        fact = "whose text has no token, or whose answer is whole in no window, left out"
        lines.append(f"{len(skipped):,} questions {fact} (the first: {first})")
    return lines
