"""Tokenizers that know a symbol for a gap."""

import json
from collections.abc import Iterable

from multihead.errors import UserError
from multihead.settings import TokenizerSettings
from multihead.settings.tasks.masked import TokenizerSettings as MaskedSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

MASK = "[MASK]"
NAMES = (MASK, "<mask>")


def learn(texts: Iterable[str], settings: MaskedSettings, *, lowercase: bool) -> Tokenizer:
    """Learn a tokenizer with the symbol [MASK] as its last; see ``text.training.train``."""
    plain = TokenizerSettings(
        kind=settings.kind,
        vocab_size=max(1, settings.vocab_size - 1),
        min_frequency=settings.min_frequency,
        split_digits=settings.split_digits,
    )
    return with_mask(train(texts, plain, lowercase))


def with_mask(tokenizer: Tokenizer) -> Tokenizer:
    """Return the tokenizer with [MASK] in its vocabulary; itself where it has it."""
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
    """Return the id of the symbol for a gap, None if there is none."""
    ids = range(tokenizer.vocab_size - 1, -1, -1)
    return next((number for number in ids if tokenizer.piece(number) in NAMES), None)


def encode_with_gaps(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the ids of a text in which "[MASK]" stands for gaps.

    Raises:
        UserError: there is no gap; the tokenizer has no symbol for it.
    """
    gap = mask_id(tokenizer)
    if gap is None:
        raise UserError("the vocabulary has no symbol for a gap", place="tokenizer")
    parts = text.split(MASK)
    if len(parts) == 1:
        raise UserError("there is no gap in the text", place="text", remedy=f"Write {MASK} where it is.")
    ids = tokenizer.encode(parts[0])
    for part in parts[1:]:
        ids += [gap, *tokenizer.encode(part)]
    return ids
