"""Dense causal attention that keeps its own order, to alternate with bands (Brown et al. 2020, sec. 2.1).

GPT-3 uses "alternating dense and locally banded sparse attention patterns in the layers of the transformer,
similar to the Sparse Transformer" (Child et al. 2019). The bands are those of ``nn.window``.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn import ops
from multihead.nn.attention import attention_weights
from multihead.nn.description import WindowSpec
from multihead.nn.parts.window import band

LONG = 1024
"""Positions beyond which the mask is left to PyTorch's fused kernel, which never stores it."""


class CausalAttention(nn.Module):
    """Equation 1 over a position itself and all earlier ones, without a mask from outside.

    Args:
        dropout: probability of dropping a weight.
    """

    keeps_order = True

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The weights, (B, H, Q, K); the queries are the last Q of the K positions."""
        return attention_weights(q, k, _earlier(q, k, allowed))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Attend to earlier positions; (B, H, Q, d_v).

        Args:
            q: queries, (B, H, Q, d): all positions, or the last Q of them, as in a cached step.
            k: keys, (B, H, K, d).
            v: values, (B, H, K, d_v).
            allowed: mask of padding, broadcastable to (B, H, Q, K); None: none.
        """
        p = self.dropout if self.training else 0.0
        if allowed is None and q.shape[2] == k.shape[2] > LONG:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p)
        return ops.attention(q, k, v, _earlier(q, k, allowed), p)


def _earlier(q: Tensor, k: Tensor, allowed: Tensor | None) -> Tensor:
    everything = WindowSpec(before=k.shape[2], after=0)
    mask = band(q.shape[2], k.shape[2], everything, q.device)
    return mask if allowed is None else mask & allowed
