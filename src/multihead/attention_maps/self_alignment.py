"""How the tokens of one sequence look at each other, as one matrix."""

from collections.abc import Sequence

import numpy as np

from multihead.attention_maps.alignment import (
    CAUTION,
    Alignment,
    Choice,
    combine,
    merge_words,
    picked,
    without,
)
from multihead.attention_maps.patterns import sharpest
from multihead.attention_maps.record import AttentionRecord
from multihead.attention_maps.tokens import Sentence
from multihead.errors import UserError

SHARPEST = Choice()
"""The sharpest head without a simple pattern."""


def chosen(records: Sequence[AttentionRecord], tokens: Sentence, choice: Choice) -> tuple[int, int]:
    """Return the layer and the head, from 1 (head 0: all together), that a choice means.

    Where neither is named it is the sharpest head without a simple pattern.

    Raises:
        UserError: no such layer or head; no attention at all.
    """
    if not records:
        raise UserError("this model has no attention", remedy="There is nothing to look at.")
    if choice.layer is None and choice.head is None:
        return sharpest(records, np.array([token.special for token in tokens.pieces]))
    layer = 1 if choice.layer is None else picked("layer", choice.layer, len(records))
    head = 0 if choice.head is None else picked("head", choice.head, records[layer - 1].num_heads)
    return layer, head


def align_self(
    records: Sequence[AttentionRecord],
    tokens: Sentence,
    *,
    choice: Choice = SHARPEST,
    words: bool = False,
    specials: bool = False,
) -> Alignment:
    """Return what each token of a sequence takes from each token of the same.

    Args:
        records: of one sequence, from ``record_sequence``.
        tokens: the sequence.
        choice: which layer and head; see :func:`chosen`.
        words: merge pieces to words: the sum over a word's keys, the mean over its queries.
        specials: keep special symbols; otherwise they are left out and the rows renormalised.

    Raises:
        UserError: no such layer or head.
    """
    layer, head = chosen(records, tokens, choice)
    record = records[layer - 1]
    matrix = combine(record.sentence(0), Choice(layer, head or None, choice.combine))
    allowed = np.ones_like(matrix, dtype=np.bool_)
    if record.allowed_BHQK is not None:
        allowed = record.allowed_BHQK[0, 0]
    shown = tokens.pieces
    if words:
        numbers = [token.word for token in shown]
        matrix = merge_words(matrix, numbers, numbers)
        allowed = merge_words(allowed.astype(np.float32), numbers, numbers) > 0
        shown = tokens.words
    if not specials:
        special = np.array([token.special for token in shown])
        if not special.all():
            matrix, allowed = without(matrix, special, special), allowed[~special][:, ~special]
            shown = tuple(token for token in shown if not token.special)
    parts = [f"Self-attention, layer {layer} of {len(records)}"]
    heads = record.num_heads
    if heads > 1:
        parts.append(f"head {head} of {heads}" if head else f"{choice.combine} of {heads} heads")
    parts += ["pieces merged to words"] if words else []
    return Alignment(
        matrix,
        shown,
        shown,
        f"{', '.join(parts)}. {CAUTION}",
        rows="token (query)",
        columns="token (key)",
        allowed_TS=None if allowed.all() else allowed,
    )
