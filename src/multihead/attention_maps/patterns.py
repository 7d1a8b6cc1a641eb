"""What a head mostly does, in a word."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multihead.attention_maps.record import AttentionRecord

SHARE = 0.5
"""Of the weight, that a pattern must take to be named."""


def pattern(
    head_QK: NDArray[np.floating], special_K: NDArray[np.bool_], *, same_sequence: bool
) -> tuple[str, float]:
    """Return the pattern that takes at least half of a head's weight, and its share; "" and 0 if none does.

    Args:
        head_QK: its weights.
        special_K: which keys are special symbols.
        same_sequence: whether queries and keys are the same places.
    """
    shares = {"special symbols": float(head_QK[:, special_K].sum(axis=1).mean())}
    if same_sequence:
        # Where there is no special symbol to rest on, heads rest on the first token (Xiao et al. 2024).
        shares["the first token"] = float(head_QK[:, 0].mean())
        for name, offset in (("the token itself", 0), ("the token before", -1), ("the token after", 1)):
            shares[name] = float(np.diagonal(head_QK, offset).sum() / len(head_QK))
    best = max(shares, key=shares.__getitem__)
    return (best, shares[best]) if shares[best] >= SHARE else ("", 0.0)


def entropy(head_QK: NDArray[np.floating]) -> float:
    """The mean entropy of the rows, in bits."""
    p = head_QK.astype(np.float64)
    return float(-np.sum(p * np.log2(np.where(p > 0, p, 1)), axis=1).mean())


def sharpest(records: Sequence[AttentionRecord], special_K: NDArray[np.bool_]) -> tuple[int, int]:
    """Return layer and head, from 1, of the sharpest head that has no simple pattern.

    A head that looks at the token before it is sharper than any, and says little. Where all heads have a
    pattern, the sharpest of all.

    Args:
        records: of one sequence that looks at itself.
        special_K: which tokens are special symbols.
    """

    def rank(record: AttentionRecord, head: int) -> tuple[bool, float]:
        weights_QK = record.sentence(0)[head]
        return pattern(weights_QK, special_K, same_sequence=True)[0] != "", entropy(weights_QK)

    heads = [(record, head) for record in records for head in range(record.num_heads)]
    record, head = min(heads, key=lambda one: rank(*one))
    return record.layer, head + 1
