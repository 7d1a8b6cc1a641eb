"""Longformer's attention: a window, and global positions with projections of their own (Beltagy et al. 2020).

Each position attends to its window and to the global positions; these attend to every position, by a second
set of projections (sec. 3.1, "Linear Projections for Global Attention").
"""

import torch
from torch import Tensor, nn

from multihead.nn import ops
from multihead.nn.attention import attention_weights
from multihead.nn.description import WindowSpec
from multihead.nn.modules import Linear, all_linear
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.parts.window import band, local_attention


class LongformerAttention(MultiHeadAttention):
    """Multi-head attention over a window, with global positions; for encoders.

    Args:
        d_model: width of inputs and output.
        num_heads: number of heads.
        reach: positions on either side that a position attends to, half the paper's window w.
        global_tokens: number of positions at the beginning of the text that are global, such as [CLS].
        dilation: distance between neighbouring positions of the window.
        dropout: probability of dropping a weight.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        reach: int,
        global_tokens: int = 1,
        dilation: int = 1,
        dropout: float = 0.0,
    ) -> None:
        window = WindowSpec(reach, reach, dilation, tuple(range(global_tokens)))
        super().__init__(d_model, num_heads, score=LongformerScore(window, dropout))
        self.global_tokens = global_tokens
        self.w_q_global, self.w_k_global, self.w_v_global = (Linear(d_model, d_model) for _ in range(3))

    def forward(self, x_BQd: Tensor, memory_BKd: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Self-attention; (B, N, d_model).

        Args:
            x_BQd: input of the queries, (B, N, d_model).
            memory_BKd: the same tensor.
            allowed: mask of padding, (B, 1, 1, N); None: none.
        """
        assert memory_BKd is x_BQd, "Longformer's attention is self-attention"
        first = x_BQd[:, : self.global_tokens]
        q, k, v = all_linear(x_BQd, self.w_q, self.w_k, self.w_v)
        k_global, v_global = all_linear(x_BQd, self.w_k_global, self.w_v_global)
        # The others' second query is never read.
        q_global = torch.zeros_like(q)
        q_global[:, : first.shape[1]] = self.w_q_global(first)
        both = ((q, q_global), (k, k_global), (v, v_global))
        q, k, v = (torch.cat([self._heads(x, self.num_heads) for x in pair], dim=-1) for pair in both)
        return self.attend(q, k, v, allowed)


class LongformerScore(nn.Module):
    """Attention of heads whose vectors are a local and a global one side by side, (B, H, N, 2 d).

    Args:
        window: the window and its global positions.
        dropout: probability of dropping a weight.
    """

    keeps_order = True

    def __init__(self, window: WindowSpec, dropout: float = 0.0) -> None:
        super().__init__()
        self.window, self.dropout = window, dropout

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The weights of every query over all keys, (B, H, N, N)."""
        (q, q_global), (k, k_global) = q.chunk(2, -1), k.chunk(2, -1)
        mask = band(q.shape[2], k.shape[2], self.window, q.device)
        local = attention_weights(q, k, mask if allowed is None else mask & allowed)
        G = self._count(q)
        return torch.cat([attention_weights(q_global[:, :, :G], k_global, allowed), local[:, :, G:]], dim=2)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Attend; (B, H, N, d_v); ``allowed`` is the mask of padding, (B, 1, 1, N)."""
        (q, q_global), (k, k_global), (v, v_global) = q.chunk(2, -1), k.chunk(2, -1), v.chunk(2, -1)
        p, G = self.dropout if self.training else 0.0, self._count(q)
        local = local_attention(q, k, v, self.window, allowed, p)
        everywhere = ops.attention(q_global[:, :, :G], k_global, v_global, allowed, p)
        return torch.cat([everywhere, local[:, :, G:]], dim=2)

    def _count(self, q: Tensor) -> int:
        return min(len(self.window.places), q.shape[2])
