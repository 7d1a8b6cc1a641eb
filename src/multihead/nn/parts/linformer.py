"""Linformer's attention: keys and values projected to k positions, in O(n k d) (Wang et al. 2020, eq. 7).

head = softmax(Q (E K)^T / sqrt(d_k)) F V with learned E and F of shape (k, n). It cannot be causal: each of
the k projected keys is a mixture of the whole text, so a query would see tokens that come after it.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from multihead.nn import ops

Sharing = Literal["headwise", "key_value", "layerwise"]


class SequenceProjection(nn.Module):
    """E, a learned projection along the sequence: (B, H, N, d) to (B, H, k, d) for N of at most n.

    Args:
        length: n, the longest text.
        projected: k.
    """

    def __init__(self, length: int, projected: int) -> None:
        super().__init__()
        # A mixture of n independent positions then has a position's variance.
        self.weight = nn.Parameter(torch.randn(projected, length) * length**-0.5)

    def forward(self, x_BHNd: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Project; ``allowed``: mask of padding, (B, 1, 1, N), whose positions count as 0.

        Raises:
            ValueError: the text is longer than n.
        """
        N, length = x_BHNd.shape[2], self.weight.shape[1]
        if length < N:
            raise ValueError(f"{N} positions, but the Linformer's projection has {length}")
        if allowed is not None:
            x_BHNd = x_BHNd.masked_fill(~allowed.mT, 0.0)
        return self.weight[:, :N].to(x_BHNd.dtype) @ x_BHNd


class Projections:
    """The projections of a model's layers, shared as in sec. 4 of the paper ("Parameter sharing").

    Args:
        sharing: "headwise": E and F of a layer serve all its heads; "key_value": E = F too; "layerwise": one
            projection serves keys, values, heads and layers.
        length: n.
        projected: k.
    """

    def __init__(self, sharing: Sharing, length: int, projected: int) -> None:
        self._sharing, self._sizes = sharing, (length, projected)
        self._shared = SequenceProjection(*self._sizes) if sharing == "layerwise" else None

    def of_layer(self) -> tuple[SequenceProjection, SequenceProjection]:
        """Return E and F of the next layer."""
        keys = self._shared or SequenceProjection(*self._sizes)
        return keys, SequenceProjection(*self._sizes) if self._sharing == "headwise" else keys


class LinformerAttention(nn.Module):
    """softmax(Q (E K)^T / sqrt(d_k)) F V, the attention of one head; for encoders.

    It has no weights over tokens for inspection to show, only over mixtures of them.

    Args:
        keys: E.
        values: F; the same module if they are shared.
        dropout: probability of dropping a weight.
    """

    keeps_order = True

    def __init__(self, keys: SequenceProjection, values: SequenceProjection, dropout: float = 0.0) -> None:
        super().__init__()
        self.keys, self.values, self.dropout = keys, values, dropout

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Attend; (B, H, Q, d_v).

        Args:
            q: queries, (B, H, Q, d).
            k: keys, (B, H, K, d).
            v: values, (B, H, K, d_v).
            allowed: mask of padding, (B, 1, 1, K); None: none.
        """
        p = self.dropout if self.training else 0.0
        return ops.attention(q, self.keys(k, allowed), self.values(v, allowed), None, p)
