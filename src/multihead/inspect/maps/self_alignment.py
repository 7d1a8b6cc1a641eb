"""Self-attention of one sequence as an alignment of its tokens with each other."""

from collections.abc import Sequence

import numpy as np

from multihead.errors import UserError
from multihead.inspect.maps.alignment import (
    CAUTION,
    Alignment,
    AlignmentHead,
    check_index,
    combine,
    drop_tokens,
    merge_words,
)
from multihead.inspect.maps.patterns import sharpest_head
from multihead.inspect.maps.records import AttentionRecord
from multihead.inspect.maps.tokens import Sentence

SHARPEST = AlignmentHead()
"""The default choice: the lowest-entropy head without a simple pattern."""


def resolve(records: Sequence[AttentionRecord], tokens: Sentence, choice: AlignmentHead) -> tuple[int, int]:
    """Return the chosen layer and head, both from 1; head 0 means all heads combined.

    If neither is given, :func:`sharpest_head` chooses both.

    Raises:
        UserError: the model has no attention, or no such layer or head.
    """
    if not records:
        raise UserError("this model has no attention", remedy="There are no attention weights to show.")
    if choice.layer is None and choice.head is None:
        return sharpest_head(records, np.array([token.special for token in tokens.pieces]))
    layer = 1 if choice.layer is None else check_index("layer", choice.layer, len(records))
    head = 0 if choice.head is None else check_index("head", choice.head, records[layer - 1].num_heads)
    return layer, head


def align_self(
    records: Sequence[AttentionRecord],
    tokens: Sentence,
    *,
    choice: AlignmentHead = SHARPEST,
    words: bool = False,
    specials: bool = False,
) -> Alignment:
    """Return the attention of each token of a sequence to every token of the same sequence.

    Args:
        records: attention of one sequence, from ``record_sequence``.
        tokens: the sequence.
        choice: layer and head; see :func:`resolve`.
        words: merge subwords into words: sum over a word's keys, mean over its queries.
        specials: keep special symbols; otherwise they are dropped and the rows renormalised.

    Raises:
        UserError: no such layer or head.
    """
    layer, head = resolve(records, tokens, choice)
    record = records[layer - 1]
    matrix = combine(record.sentence(0), AlignmentHead(layer, head or None, choice.combine))
    allowed = np.ones_like(matrix, dtype=np.bool_)
    if record.allowed_BHQK is not None:
        allowed = record.allowed_BHQK[0, 0]
    labels = tokens.pieces
    if words:
        numbers = [token.word for token in labels]
        matrix = merge_words(matrix, numbers, numbers)
        allowed = merge_words(allowed.astype(np.float32), numbers, numbers) > 0
        labels = tokens.words
    if not specials:
        special = np.array([token.special for token in labels])
        if not special.all():
            matrix, allowed = drop_tokens(matrix, special, special), allowed[~special][:, ~special]
            labels = tuple(token for token in labels if not token.special)
    parts = [f"Self-attention, layer {layer} of {len(records)}"]
    heads = record.num_heads
    if heads > 1:
        parts.append(f"head {head} of {heads}" if head else f"{choice.combine} of {heads} heads")
    parts += ["subwords merged into words"] if words else []
    return Alignment(
        matrix,
        labels,
        labels,
        f"{', '.join(parts)}. {CAUTION}",
        rows="token (query)",
        columns="token (key)",
        allowed_TS=None if allowed.all() else allowed,
    )
