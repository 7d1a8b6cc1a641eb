"""Measures the speed of training a model that a recipe describes, before its data is prepared."""

import time
from dataclasses import replace

import numpy as np
import torch

from multihead.batch import Batch, Input, LabelledBatch, TaggedBatch, TextBatch
from multihead.data.batches import FREE, collate
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.system import hardware
from multihead.training.cuda_graphs import make_updater
from multihead.training.optimizers import make_optimizer
from multihead.workflows.new_model import new_model

TOKENS = 1024
"""Target tokens of a trial batch, about."""
WARM, TIMED = 2, 3
"""Updates before and within the measurement."""
PAD, BEGIN, END, FIRST = 0, 2, 3, 4


def tokens_per_second(recipe: Recipe[Settings], length: int) -> float:
    """Return the target tokens a second of updates on made-up pairs of ``length`` tokens a side.

    Raises:
        UserError: the model does not fit into memory.
    """
    vocabulary = recipe.tokenizer.vocab_size
    # Longer pairs are dropped from the corpus, and a model may have no positions for them.
    length = min(length, recipe.data.max_length, getattr(recipe.model, "max_positions", TOKENS) - 1)
    sizes = dict.fromkeys(("source_vocab", "target_vocab"), vocabulary)
    recipe = replace(recipe, model=recipe.model.model_copy(update=sizes))
    drawn = np.random.default_rng(1).integers(
        FIRST, max(vocabulary, FIRST + 1), (TOKENS // length + 1, length)
    )
    rows = [row.tolist() for row in drawn]
    return update_speed(recipe, collate(rows, rows, pad_id=PAD, bos_id=BEGIN, eos_id=END, shapes=FREE))


def text_speed(recipe: Recipe[Settings], length: int) -> float:
    """Return the tokens a second of updates of a model of texts on made-up ones.

    Raises:
        UserError: the model does not fit into memory.
    """
    vocabulary = recipe.tokenizer.vocab_size
    recipe = replace(recipe, model=recipe.model.model_copy(update={"vocab_size": vocabulary}))
    if recipe.task == "language":
        width = recipe.model.context + 1  # type: ignore[attr-defined]
        ids_BT = torch.arange((TOKENS // width + 1) * width).view(-1, width) % vocabulary
        return update_speed(recipe, TextBatch(ids_BT))
    length = min(length, recipe.data.max_length)
    rows = TOKENS // length + 1
    ids_BN = torch.arange(rows * length).view(rows, length) % vocabulary
    texts = Input(ids_BN, torch.zeros_like(ids_BN), torch.full((rows,), length))
    tokens = rows * length
    if recipe.task == "tagging":
        return update_speed(recipe, TaggedBatch(texts, torch.zeros_like(ids_BN), tokens, tokens))
    return update_speed(recipe, LabelledBatch(texts, torch.zeros_like(texts.lengths_B), tokens))


def update_speed(recipe: Recipe[Settings], batch: Batch) -> float:
    """Return the tokens a second of updates of a recipe's model on a batch.

    Raises:
        UserError: the model does not fit into memory.
    """
    settings = recipe.training
    hardware.keep_memory()
    hardware.use_threads(settings.threads)
    device = hardware.pick_device(settings.device)
    model = new_model(recipe, device).train()
    updater = make_updater(model, make_optimizer(model, settings), settings, device)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        for number in range(WARM + TIMED):
            if number == WARM:
                updater.synchronize()
                began = time.perf_counter()
            updater.update(1, [batch])
        updater.synchronize()
    return TIMED * batch.tokens / (time.perf_counter() - began)
