"""The size of a student's vocabulary: its recipe's, or less where the corpus has not the words for it."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.tasks.translation.suggest.pieces import vocab_size
from multihead.tasks.translation.suggest.profile import profile
from multihead.text.corpus import read_pairs

KEY = "tokenizer.vocab_size"
ENOUGH = 50_000
"""Pairs that are read: from so many words any recipe's vocabulary can be learned."""
MULTIPLE = 8
"""Firefox's engine takes vocabularies of a multiple of this size."""


def fit_vocabulary(recipe: Recipe[Settings], given: Mapping[str, object]) -> Recipe[Settings]:
    """Return the recipe with a vocabulary that its training data supports, and the reason if it is smaller.

    Args:
        recipe: a student's, whose training data exists.
        given: settings by dotted key; a size among them is kept.
    """
    tokenizer, data = recipe.tokenizer, recipe.data
    own = KEY in given or tokenizer.file
    if own or tokenizer.kind not in ("bpe", "unigram") or not tokenizer.joint:
        return recipe
    pairs = islice(read_pairs(data, data.source, data.target), ENOUGH)
    measured = profile(pairs, lowercase=data.lowercase)
    size, reason = vocab_size(measured, 2, tokenizer.kind, tokenizer.vocab_size)
    size = size // MULTIPLE * MULTIPLE
    if size >= tokenizer.vocab_size:
        return recipe
    smaller = tokenizer.model_copy(update={"vocab_size": size})
    return replace(recipe, tokenizer=smaller, reasons={**recipe.reasons, KEY: reason})
