"""Attention weights of a module for a batch, as arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["encoder self", "decoder self", "cross", "self"]
"""Type of attention: encoder self-attention, decoder self-attention or cross-attention of an encoder-decoder;
"self" in a model with a single sequence."""


@dataclass(frozen=True, slots=True)
class AttentionRecord:
    """Attention weights of one module for a batch. Axes as in ``multihead.batch``.

    As a query, target position i predicts output token i (``target_out``); as a key, it is input token i
    (``target_in``).

    Attributes:
        module: path in the model, "decoder.layers.0.cross_attention.score".
        kind: encoder self-, decoder self- or cross-attention, or "self".
        layer: number among the modules of this kind, from 1, in the order they ran.
        weights_BHQK: weights, trimmed to the longest sentence; rows sum to 1 over the allowed keys.
        allowed_BHQK: True = the query may attend to the key; None: every query may attend to every key.
        query_lengths_B: lengths without padding, including special symbols.
        key_lengths_B: lengths without padding, including special symbols.
        q_BHQd: the queries, if kept.
        k_BHKd: the keys, if kept.
        v_BHKd: the values, if kept.
    """

    module: str
    kind: Kind
    layer: int
    weights_BHQK: NDArray[np.float32]
    allowed_BHQK: NDArray[np.bool_] | None
    query_lengths_B: NDArray[np.int64]
    key_lengths_B: NDArray[np.int64]
    q_BHQd: NDArray[np.float32] | None = None
    k_BHKd: NDArray[np.float32] | None = None
    v_BHKd: NDArray[np.float32] | None = None

    @property
    def num_heads(self) -> int:
        """Number of heads, H."""
        return int(self.weights_BHQK.shape[1])

    def sentence(self, index: int) -> NDArray[np.float32]:
        """Return the weights of one sentence without padding, (H, Q, K)."""
        queries, keys = self.query_lengths_B[index], self.key_lengths_B[index]
        return self.weights_BHQK[index, :, :queries, :keys]


Attended = Callable[[Sequence[Sequence[int]], Sequence[Sequence[int]]], list[AttentionRecord]]
"""(sources, outputs), ids without special symbols -> records of each layer's attention over the source; empty
for a model without cross-attention."""
