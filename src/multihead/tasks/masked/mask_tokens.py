"""Tokenizers with a [MASK] token, for masked language models."""

import json
from collections.abc import Iterable

from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.tasks.masked.settings import TokenizerSettings as MaskedSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

MASK = "[MASK]"
NAMES = (MASK, "<mask>")


def learn(texts: Iterable[str], settings: MaskedSettings, *, lowercase: bool) -> Tokenizer:
    """Train a tokenizer whose last token is [MASK]; see ``text.training.train``."""
    plain = TokenizerSettings(
        kind=settings.kind,
        vocab_size=max(1, settings.vocab_size - 1),
        min_frequency=settings.min_frequency,
        split_digits=settings.split_digits,
    )
    return with_mask(train(texts, plain, lowercase))


def with_mask(tokenizer: Tokenizer) -> Tokenizer:
    """Return the tokenizer with [MASK] added to its vocabulary, or itself if it has a mask token."""
    if mask_id(tokenizer) is not None:
        return tokenizer
    content = json.loads(tokenizer.to_json())
    vocabulary = content["model"]["vocab"]
    if isinstance(vocabulary, dict):
        vocabulary[MASK] = tokenizer.vocab_size
    else:
        vocabulary.append([MASK, 0.0])
    return Tokenizer.from_json(json.dumps(content))


def mask_id(tokenizer: Tokenizer) -> int | None:
    """Return the id of the mask token, or None if the vocabulary has none."""
    ids = range(tokenizer.vocab_size - 1, -1, -1)
    return next((number for number in ids if tokenizer.piece(number) in NAMES), None)


def encode_masked(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the token ids of a text, with one mask token for each "[MASK]".

    Raises:
        UserError: the text has no [MASK], or the vocabulary no mask token.
    """
    mask = mask_id(tokenizer)
    if mask is None:
        raise UserError("the vocabulary has no mask token", place="tokenizer")
    parts = text.split(MASK)
    if len(parts) == 1:
        raise UserError(f"no {MASK} in the text", place="text", remedy=f"Write {MASK} for the missing token.")
    ids = tokenizer.encode(parts[0])
    for part in parts[1:]:
        ids += [mask, *tokenizer.encode(part)]
    return ids
