"""What is odd about a corpus of which no single pair is: files that were named the wrong way round."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from multihead.data.prepare import Prepared

LOOKED_AT = 1000
"""Pairs to train on, and to validate on, that are looked at, spread over all."""
SAME = 0.75
"""The part of pairs with the same text on both sides that is told. In corrected texts half is usual."""
SURELY = 1.5
"""How many times as many words must be the other side's, for both sides."""

T = TypeVar("T")
Texts = Sequence[str]


def doubts(prepared: Prepared) -> list[str]:
    """Return what a person should be told of a corpus, a line each; often nothing."""
    train, looked_at = prepared.train, _spread(range(len(prepared.train)))
    source = prepared.source_tokenizer.decode_batch(train.source(number) for number in looked_at)
    target = prepared.target_tokenizer.decode_batch(train.target(number) for number in looked_at)
    found = []
    same = sum(one == other for one, other in zip(source, target, strict=True))
    if same > SAME * len(source):
        told = f"{same:,} of {len(source):,} pairs looked at"
        found.append(f"caution: the source is the target in {told}; are these the files you mean?")
    if not prepared.held_out:
        pairs = _spread(prepared.valid_pairs)
        sides = [one for one, _ in pairs], [other for _, other in pairs]
        straight = _known(sides[0], source), _known(sides[1], target)
        crossed = _known(sides[0], target), _known(sides[1], source)
        if all(other > SURELY * own for other, own in zip(crossed, straight, strict=True)):
            found.append("caution: source and target of the validation files look like each other's")
    return found


def _spread(items: Sequence[T]) -> list[T]:
    chosen = np.linspace(0, len(items) - 1, min(LOOKED_AT, len(items)), dtype=int)
    return [items[number] for number in chosen.tolist()]


def _known(texts: Texts, others: Texts) -> float:
    """Return which part of the words of texts occur in others too, whatever their case."""
    words = [word for text in texts for word in text.casefold().split()]
    known = {word for text in others for word in text.casefold().split()}
    return sum(word in known for word in words) / max(1, len(words))
