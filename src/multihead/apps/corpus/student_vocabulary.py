"""The size of a student's vocabulary: its recipe's, or less if the corpus has too few words."""

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
"""Number of pairs read: enough to learn any recipe's vocabulary."""
MULTIPLE = 8
"""Firefox's engine requires a vocabulary size that is a multiple of this."""


def fit_vocabulary(recipe: Recipe[Settings], settings: Mapping[str, object]) -> Recipe[Settings]:
    """Return the recipe with a vocabulary that its data supports, and the reason for a smaller one.

    Args:
        recipe: a student's, whose training data exists.
        settings: settings by dotted key; a vocabulary size among them is kept.
    """
    tokenizer, data = recipe.tokenizer, recipe.data
    fixed = KEY in settings or tokenizer.file
    if fixed or tokenizer.kind not in ("bpe", "unigram") or not tokenizer.joint:
        return recipe
    pairs = islice(read_pairs(data, data.source, data.target), ENOUGH)
    measured = profile(pairs, lowercase=data.lowercase)
    size, reason = vocab_size(measured, 2, tokenizer.kind, tokenizer.vocab_size)
    size = size // MULTIPLE * MULTIPLE
    if size >= tokenizer.vocab_size:
        return recipe
    smaller = tokenizer.model_copy(update={"vocab_size": size})
    return replace(recipe, tokenizer=smaller, reasons={**recipe.reasons, KEY: reason})
