"""Settings of a translator's stream of training batches: budget, shapes, BPE-dropout."""

from collections.abc import Mapping
from typing import Any

import torch

from multihead.data.batches import FREE, Mark, Pairs, Reencode, Shapes, StreamPosition
from multihead.data.marking import Marking
from multihead.data.noising import Noise
from multihead.data.phrases import PhraseCutting
from multihead.data.protecting import Protection
from multihead.data.word_pairs import sample_texts
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.system import hardware, randomness
from multihead.text.bpe_dropout import BPEDropout, supports_dropout
from multihead.text.changed_kinds import not_kept
from multihead.text.names import learn_names
from multihead.text.tokenizer import Tokenizer

CPU_SHAPES = Shapes(multiple=4)
"""oneDNN compiles code for every new shape; native int8 products need no rounded shapes."""

GPU_SHAPES = Shapes(multiple=8, few_rows=True)
"""A CUDA graph is captured for every new shape (``training.cuda_graphs``)."""


def stream_settings(
    recipe: Recipe[Settings],
    tokenizers: tuple[Tokenizer, Tokenizer],
    position: StreamPosition,
    device: torch.device,
    mark: Mark | None = None,
) -> dict[str, Any]:
    """Return the keyword arguments of a ``BatchStream`` for pairs in these vocabularies."""
    source, target = tokenizers
    dropout, seed = recipe.tokenizer.dropout, recipe.training.seed
    return {
        "batch_tokens": recipe.training.batch_tokens,
        "seed": seed,
        "pad_id": target.pad_id,
        "bos_id": target.bos_id,
        "eos_id": target.eos_id,
        "position": position,
        "source_encode": _reencoder(source, dropout, randomness.derive(seed, "source")),
        "target_encode": _reencoder(target, dropout, randomness.derive(seed, "target")),
        "mark": _noisy(recipe, source, mark),
        "shapes": _shapes(recipe.training.precision, device),
    }


def _noisy(recipe: Recipe[Settings], source: Tokenizer, mark: Mark | None) -> Mark | None:
    """Return the function that adds symbols and noise to training pairs; None: neither."""
    if not recipe.tokenizer.noise_rate:
        return mark
    seed = randomness.derive(recipe.training.seed, "noise")
    return Noise(source, recipe.tokenizer.noise_rate, seed, recipe.data.max_length, mark)


def marking(
    recipe: Recipe[Settings],
    pairs: Pairs,
    tokenizers: tuple[Tokenizer, Tokenizer],
    changed: Mapping[str, Any],
) -> Marking | Protection | PhraseCutting | None:
    """Return the function that adds reserved symbols to training pairs and cuts phrases; None: no symbols.

    Args:
        recipe: its rates.
        pairs: the corpus.
        tokenizers: those of source and target.
        changed: placeholders that translations change and keep, of ``calibrating.find_changed``.
    """
    settings, seed, longest = recipe.tokenizer, recipe.training.seed, recipe.data.max_length
    marks = Marking.of(pairs, tokenizers, settings.symbol_rate, randomness.derive(seed, "symbols"), longest)
    if marks is None:
        return None
    mark: Marking | Protection = marks
    if settings.protect_rate:
        mark = Protection(
            tokenizers[0],
            not_kept(changed),
            settings.protect_rate,
            randomness.derive(seed, "protected"),
            longest,
            marks,
            learn_names(sample_texts([(pairs, *tokenizers)])),
        )
    if settings.phrase_rate:
        return PhraseCutting(
            tokenizers[0], marks, settings.phrase_rate, randomness.derive(seed, "phrases"), mark
        )
    return mark


def _shapes(precision: hardware.Precision, device: torch.device) -> Shapes:
    if device.type == "cuda":
        return GPU_SHAPES
    return FREE if hardware.trains_in_int8(precision, device) else CPU_SHAPES


def _reencoder(tokenizer: Tokenizer, dropout: float, seed: int) -> Reencode | None:
    if not dropout or not supports_dropout(tokenizer):
        return None
    return BPEDropout(tokenizer, dropout, seed).reencode
