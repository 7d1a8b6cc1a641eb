"""Multi-head attention, Concat(head_1, ..., head_h) W^O (Vaswani et al. 2017, sec. 3.2.2)."""

from torch import Tensor, nn

from multihead.nn.attention import DotProductAttention
from multihead.nn.modules import Linear, all_linear


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_h) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V) (sec. 3.2.2).

    Args:
        d_model: width of inputs and output.
        num_heads: h.
        d_k: width of a head's queries and keys; default d_model / h.
        d_v: width of a head's values; default d_k.
        dropout: chance that an attention weight is dropped (the paper: 0).
        score: the attention of one head; default scaled dot-product. Must offer
            ``forward(q, k, v, allowed)`` and ``weights(q, k, allowed)``.

    Raises:
        ValueError: d_model is not a multiple of num_heads and no d_k is given.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        dropout: float = 0.0,
        score: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if d_k is None and d_model % num_heads:
            raise ValueError(f"d_model {d_model} is not a multiple of num_heads {num_heads}; give d_k")
        d_k = d_k or d_model // num_heads
        d_v = d_v or d_k
        self.num_heads = num_heads
        self.w_q = Linear(d_model, num_heads * d_k)
        self.w_k = Linear(d_model, num_heads * d_k)
        self.w_v = Linear(d_model, num_heads * d_v)
        self.w_o = Linear(num_heads * d_v, d_model)
        self.score = score if score is not None else DotProductAttention(dropout)

    def forward(self, x_BQd: Tensor, memory_BKd: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Let every x look at the memory (for self-attention the same tensor); (B, Q, d_model).

        Args:
            x_BQd: where the queries come from, (B, Q, d_model).
            memory_BKd: where keys and values come from, (B, K, d_model).
            allowed: True = may attend, broadcastable to (B, H, Q, K); None: everything.
        """
        if memory_BKd is x_BQd:
            q, k, v = (self._split(y) for y in all_linear(x_BQd, self.w_q, self.w_k, self.w_v))
            return self.attend(q, k, v, allowed)
        return self.attend(self.queries(x_BQd), *self.keys_values(memory_BKd), allowed)

    def queries(self, x_BQd: Tensor) -> Tensor:
        """The heads' queries, (B, H, Q, d_k)."""
        return self._split(self.w_q(x_BQd))

    def keys_values(self, memory_BKd: Tensor) -> tuple[Tensor, Tensor]:
        """The heads' keys (B, H, K, d_k) and values (B, H, K, d_v), which a decoder may keep."""
        keys, values = all_linear(memory_BKd, self.w_k, self.w_v)
        return self._split(keys), self._split(values)

    def attend(self, q_BHQd: Tensor, k_BHKd: Tensor, v_BHKd: Tensor, allowed: Tensor | None) -> Tensor:
        """Attend, put the heads side by side and mix them with W^O; (B, Q, d_model)."""
        heads_BHQd: Tensor = self.score(q_BHQd, k_BHKd, v_BHKd, allowed)
        mixed: Tensor = self.w_o(heads_BHQd.transpose(1, 2).flatten(2))
        return mixed

    def _split(self, x_BNd: Tensor) -> Tensor:
        B, N, _ = x_BNd.shape
        return x_BNd.view(B, N, self.num_heads, -1).transpose(1, 2)
