"""Scaled dot-product attention, softmax(QK^T / sqrt(d_k)) V (Vaswani et al. 2017, sec. 3.2.1, eq. 1)."""

import math

from torch import Tensor, nn

from multihead.nn import ops
from multihead.nn.description import ScoreSpec
from multihead.nn.ops import masked_softmax


def attention_weights(q_BHQd: Tensor, k_BHKd: Tensor, allowed: Tensor | None = None) -> Tensor:
    """softmax(QK^T / sqrt(d_k)): each query's weights over the keys; (B, H, Q, K), rows sum to 1 or are 0."""
    return masked_softmax(q_BHQd @ k_BHKd.mT / math.sqrt(q_BHQd.shape[-1]), allowed)


def attention(q_BHQd: Tensor, k_BHKd: Tensor, v_BHKd: Tensor, allowed: Tensor | None = None) -> Tensor:
    """softmax(QK^T / sqrt(d_k)) V: equation 1 as published, and the oracle of every fast path.

    Args:
        q_BHQd: queries.
        k_BHKd: keys, as wide as the queries.
        v_BHKd: values, d_v wide.
        allowed: True = may attend, broadcastable to (B, H, Q, K); None: everything. A query without any
            allowed key gets 0.

    Returns:
        (B, H, Q, d_v).

    Raises:
        UserError: the mask is not boolean.
    """
    return attention_weights(q_BHQd, k_BHKd, allowed) @ v_BHKd


class DotProductAttention(nn.Module):
    """Equation 1 with dropout on the weights, computed by the fastest kernel that accepts the inputs.

    The module stores no weights. Inspection finds modules by their ``weights`` method and recomputes the
    weights from recorded q and k.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The paper's equation; see :func:`attention_weights`."""
        return attention_weights(q, k, allowed)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """As :func:`attention`; same shapes."""
        return ops.attention(q, k, v, allowed, self.dropout if self.training else 0.0)

    def describe(self) -> ScoreSpec:
        """The description that engines and exports read."""
        return ScoreSpec("dot", scaled=True)
