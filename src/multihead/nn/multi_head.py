"""Multi-head attention, Concat(head_1, ..., head_h) W^O (Vaswani et al. 2017, sec. 3.2.2)."""

from torch import Tensor, nn

from multihead.nn import description
from multihead.nn.attention import DotProductAttention
from multihead.nn.description import AttentionSpec, RotarySpec, ScoreSpec, describe
from multihead.nn.modules import Linear, all_linear
from multihead.nn.parts.rotary import RotaryPositions


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_h) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V) (sec. 3.2.2).

    Args:
        d_model: width of inputs and output.
        num_heads: h.
        num_kv_heads: heads of keys and values, a divisor of h; query heads share them in groups
            (grouped-query attention, Ainslie et al. 2023; 1: multi-query attention, Shazeer 2019); default h.
        d_k: width of a head's queries and keys; default d_model / h.
        d_v: width of a head's values; default d_k.
        dropout: probability of dropping an attention weight (the paper: 0).
        score: the attention of one head; default scaled dot-product. It has ``forward(q, k, v, allowed)`` and
            ``weights(q, k, allowed)``.
        rotary: rotates queries and keys by their positions; None: no rotation.
        d_memory: width of the memory that keys and values are made of; default d_model.
        bias: whether the projections have biases.

    Raises:
        ValueError: d_model is not a multiple of num_heads and no d_k is given, or num_heads is not a multiple
            of num_kv_heads.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        dropout: float = 0.0,
        score: nn.Module | None = None,
        rotary: RotaryPositions | None = None,
        d_memory: int | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if d_k is None and d_model % num_heads:
            raise ValueError(f"d_model {d_model} is not a multiple of num_heads {num_heads}; give d_k")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads or num_heads
        if self.num_heads % self.num_kv_heads:
            raise ValueError(f"num_heads {num_heads} is not a multiple of num_kv_heads {num_kv_heads}")
        self.d_k = d_k or d_model // num_heads
        self.d_v = d_v or self.d_k
        self.w_q = Linear(d_model, self.num_heads * self.d_k, bias=bias)
        self.w_k = Linear(d_memory or d_model, self.num_kv_heads * self.d_k, bias=bias)
        self.w_v = Linear(d_memory or d_model, self.num_kv_heads * self.d_v, bias=bias)
        self.w_o = Linear(self.num_heads * self.d_v, d_model, bias=bias)
        self.score = score if score is not None else DotProductAttention(dropout)
        self.rotary = rotary

    def forward(self, x_BQd: Tensor, memory_BKd: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Attend from x to the memory (the same tensor for self-attention); (B, Q, d_model).

        Args:
            x_BQd: input of the queries, (B, Q, d_model).
            memory_BKd: input of the keys and values, (B, K, d_memory).
            allowed: True = may attend, broadcastable to (B, H, Q, K); None: everything.
        """
        if memory_BKd is x_BQd:
            q, k, v = all_linear(x_BQd, self.w_q, self.w_k, self.w_v)
            q_BHQd, k_BGKd = self._rotate(self._heads(q, self.num_heads), self._heads(k, self.num_kv_heads))
            return self.attend(q_BHQd, k_BGKd, self._heads(v, self.num_kv_heads), allowed)
        return self.attend(self.queries(x_BQd), *self.keys_values(memory_BKd), allowed)

    def queries(self, x_BQd: Tensor, start: int = 0) -> Tensor:
        """The heads' queries, (B, H, Q, d_k), from position ``start`` on."""
        (q_BHQd,) = self._rotate(self._heads(self.w_q(x_BQd), self.num_heads), start=start)
        return q_BHQd

    def keys_values(self, memory_BKd: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
        """The heads' keys (B, G, K, d_k) and values (B, G, K, d_v), from position ``start`` on."""
        k, v = (self._heads(y, self.num_kv_heads) for y in all_linear(memory_BKd, self.w_k, self.w_v))
        (k_BGKd,) = self._rotate(k, start=start)
        return k_BGKd, v

    def attend(self, q_BHQd: Tensor, k_BGKd: Tensor, v_BGKd: Tensor, allowed: Tensor | None) -> Tensor:
        """Attend in every head, concatenate the heads, and project by W^O; (B, Q, d_model)."""
        group = self.num_heads // self.num_kv_heads
        if group > 1:
            k_BGKd, v_BGKd = k_BGKd.repeat_interleave(group, dim=1), v_BGKd.repeat_interleave(group, dim=1)
        heads_BHQd: Tensor = self.score(q_BHQd, k_BGKd, v_BGKd, allowed)
        mixed: Tensor = self.w_o(heads_BHQd.transpose(1, 2).flatten(2))
        return mixed

    def describe(self) -> AttentionSpec:
        """The description that engines and exports read."""
        return AttentionSpec(
            heads=self.num_heads,
            kv_heads=self.num_kv_heads,
            d_k=self.d_k,
            d_v=self.d_v,
            score=describe(self.score, ScoreSpec),
            w_q=description.describe_linear(self.w_q),
            w_k=description.describe_linear(self.w_k),
            w_v=description.describe_linear(self.w_v),
            w_o=description.describe_linear(self.w_o),
            rotary=None if self.rotary is None else describe(self.rotary, RotarySpec),
        )

    def _rotate(self, *heads_BHNd: Tensor, start: int = 0) -> tuple[Tensor, ...]:
        """Queries or keys, rotated if positions are rotary."""
        if self.rotary is None:
            return heads_BHNd
        return tuple(self.rotary(x_BHNd, start) for x_BHNd in heads_BHNd)

    def _heads(self, x_BNe: Tensor, heads: int) -> Tensor:
        """Split into heads: (B, N, heads * d) to (B, heads, N, d)."""
        B, N, _ = x_BNe.shape
        return x_BNe.view(B, N, heads, -1).transpose(1, 2)
