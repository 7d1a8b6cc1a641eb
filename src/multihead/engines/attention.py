"""Attention of a laid-out layer: in float32 on a CPU, by fused kernels on a GPU.

Queries have H heads, keys and values G; H / G query heads share each key/value head.
"""

import math
from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from multihead.system.gpu import kernel


class KeysAndValues(NamedTuple):
    """Keys (N, G, K, d_k) and values (N, G, K, d_v)."""

    k: Tensor
    v: Tensor

    def at(self, sentences: Tensor) -> "KeysAndValues":
        """The keys and values of these sentences."""
        return KeysAndValues(self.k.index_select(0, sentences), self.v.index_select(0, sentences))


class Attention(Protocol):
    """softmax(QK^T * scale + bias) V on some device."""

    def query_factor(self, scale: float, d_k: int) -> float:
        """The factor to fold into W^Q, given the equation's factor of q . k."""
        ...

    def heads(self, x_NQe: Tensor, heads: int) -> Tensor:
        """Split into heads, (N, Q, heads * d) to (N, heads, Q, d), in the layout of caches."""
        ...

    def __call__(self, q_NHQd: Tensor, keys: KeysAndValues, bias: Tensor | None) -> Tensor:
        """Attend; the concatenated heads, (N, Q, H * d_v), in the format of matrix products.

        Args:
            q_NHQd: queries, multiplied by the query factor.
            keys: keys and values.
            bias: 0 or -infinity, broadcastable to (N, 1, Q, K); None: 0.
        """
        ...


class Float32Attention:
    """Two products and a softmax in float32: at these sizes, 2 to 5 times as fast as bf16 on a CPU.

    Args:
        dtype: the format of the matrix products before and after.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype

    def query_factor(self, scale: float, d_k: int) -> float:
        """See :class:`Attention`: queries are scaled in advance, so scores are plain products."""
        return scale

    def heads(self, x_NQe: Tensor, heads: int) -> Tensor:
        """See :class:`Attention`; contiguous and in float32."""
        N, Q, e = x_NQe.shape
        split = torch.empty(N, heads, Q, e // heads)
        return split.copy_(x_NQe.view(N, Q, heads, -1).transpose(1, 2))

    def __call__(self, q_NHQd: Tensor, keys: KeysAndValues, bias: Tensor | None) -> Tensor:
        """See :class:`Attention`."""
        (N, H, Q, _), G = q_NHQd.shape, keys.k.shape[1]
        # The query heads of a group are just more queries of their shared head.
        scores = q_NHQd.view(N, G, H // G * Q, -1) @ keys.k.mT
        if bias is not None:
            scores.view(N, G, H // G, Q, -1).add_(bias[:, :, None])
        heads_NHQd = (scores.softmax(-1) @ keys.v).view(N, H, Q, -1)
        concatenated = torch.empty(N, Q, H, heads_NHQd.shape[3], dtype=self._dtype)
        return concatenated.copy_(heads_NHQd.transpose(1, 2)).flatten(2)


class FusedAttention:
    """One fused kernel: Triton's for few queries, else PyTorch's ``scaled_dot_product_attention`` (GPU)."""

    def query_factor(self, scale: float, d_k: int) -> float:
        """See :class:`Attention`: the kernels divide by sqrt(d_k)."""
        return scale * math.sqrt(d_k)

    def heads(self, x_NQe: Tensor, heads: int) -> Tensor:
        """See :class:`Attention`; a view."""
        N, Q, _ = x_NQe.shape
        return x_NQe.view(N, Q, heads, -1).transpose(1, 2)

    def __call__(self, q_NHQd: Tensor, keys: KeysAndValues, bias: Tensor | None) -> Tensor:
        """See :class:`Attention`."""
        assert bias is not None
        (k, v), (N, H, Q, _) = keys, q_NHQd.shape
        grouped = k.shape[1] != H
        triton = None if grouped else kernel("engines.cuda.triton_step_attention", q_NHQd, k, v)
        if triton is not None and triton.suits(q_NHQd, v):
            out: Tensor = triton.attend(q_NHQd, k, v, bias[:, 0])
        else:
            mask = bias.expand(N, H, Q, -1)
            out = F.scaled_dot_product_attention(q_NHQd, k, v, attn_mask=mask, enable_gqa=grouped)
        return out.transpose(1, 2).flatten(2)
