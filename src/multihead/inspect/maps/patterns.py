"""Names for common attention patterns of a head: previous token, special symbols and so on."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multihead.inspect.maps.records import AttentionRecord

MIN_SHARE = 0.5
"""Minimum share of a head's weight for naming a pattern."""


def pattern(
    head_QK: NDArray[np.floating], special_K: NDArray[np.bool_], *, same_sequence: bool
) -> tuple[str, float]:
    """Return the pattern that holds at least half of a head's weight, and its share; ("", 0) if none does.

    Args:
        head_QK: the head's weights.
        special_K: True = the key is a special symbol.
        same_sequence: whether queries and keys are positions of the same sequence.
    """
    shares = {"special symbols": float(head_QK[:, special_K].sum(axis=1).mean())}
    if same_sequence:
        # Without special symbols the first token is the attention sink (Xiao et al. 2024).
        shares["the first token"] = float(head_QK[:, 0].mean())
        for name, offset in (("the same token", 0), ("the previous token", -1), ("the next token", 1)):
            shares[name] = float(np.diagonal(head_QK, offset).sum() / len(head_QK))
    best = max(shares, key=shares.__getitem__)
    return (best, shares[best]) if shares[best] >= MIN_SHARE else ("", 0.0)


def entropy(head_QK: NDArray[np.floating]) -> float:
    """Return the mean entropy of the rows, in bits."""
    p = head_QK.astype(np.float64)
    return float(-np.sum(p * np.log2(np.where(p > 0, p, 1)), axis=1).mean())


def sharpest_head(records: Sequence[AttentionRecord], special_K: NDArray[np.bool_]) -> tuple[int, int]:
    """Return layer and head, from 1, of the lowest-entropy head among the heads without a pattern.

    A previous-token head has the lowest entropy but shows little. If every head has a pattern, all heads
    compete.

    Args:
        records: self-attention records of one sequence.
        special_K: True = the token is a special symbol.
    """

    def rank(record: AttentionRecord, head: int) -> tuple[bool, float]:
        weights_QK = record.sentence(0)[head]
        return pattern(weights_QK, special_K, same_sequence=True)[0] != "", entropy(weights_QK)

    heads = [(record, head) for record in records for head in range(record.num_heads)]
    record, head = min(heads, key=lambda pair: rank(*pair))
    return record.layer, head + 1
