"""Positions inside the score function: linear biases and relative position vectors; and query-key norm.

Queries are the last Q of the K positions, so that a cached step computes the same as whole sequences.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn import ops
from multihead.nn.description import ScoreSpec
from multihead.nn.modules import Dropout
from multihead.nn.score_functions import ScoreFunction


def offsets(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """j - i of query i and key j, (Q, K); the queries are the last positions."""
    rows_Q = torch.arange(keys - queries, keys, device=device)
    return torch.arange(keys, device=device) - rows_Q[:, None]


def slopes(num_heads: int) -> Tensor:
    """The slope of each head, 2^(-8/h), 2^(-16/h), ... (Press et al. 2022, sec. 3), (H,).

    If the number of heads is not a power of 2, as in the authors' code (github.com/ofirpress/attention_with_
    linear_biases): those of the next smaller power, then every other one of the next greater power.
    """
    power = 1 << (num_heads.bit_length() - 1)
    first = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    more = [2 ** (-4 * (2 * head + 1) / power) for head in range(num_heads - power)]
    return torch.tensor(first + more)


class LinearBiases(ScoreFunction):
    """ALiBi: score = q . k / sqrt(d_k) - m_h |i - j| (Press, Smith and Lewis 2022, sec. 3).

    Nothing is learned, and no position is added to the embeddings, so that a model reads texts longer than
    those of its training. The paper has causal attention; bidirectional attention takes the distance.

    Args:
        num_heads: h; each head has its own slope m_h.
        dropout: probability of dropping an attention weight.
    """

    def __init__(self, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.slopes_H: Tensor
        self.register_buffer("slopes_H", slopes(num_heads), persistent=False)
        self.dropout = Dropout(dropout)

    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:
        """See :class:`ScoreFunction`."""
        scores_BHQK = (q_BHQd / math.sqrt(q_BHQd.shape[-1])) @ k_BHKd.mT
        distance_QK = offsets(q_BHQd.shape[2], k_BHKd.shape[2], q_BHQd.device).abs()
        return scores_BHQK - (self.slopes_H[:, None, None] * distance_QK).to(scores_BHQK.dtype)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """See :class:`ScoreFunction`."""
        weights: Tensor = self.dropout(self.weights(q, k, allowed))
        return weights @ v

    def describe(self) -> ScoreSpec:
        """The description that engines and exports read."""
        return ScoreSpec("linear biases", scaled=True)


class RelativePositions(ScoreFunction):
    """Scores q_i . (k_j + a^K_(j-i)) / sqrt(d_k), values v_j + a^V_(j-i) (Shaw et al. 2018, eq. 3 and 4).

    Offsets beyond the reach share a vector (eq. 5). All heads share the vectors (sec. 3.3).

    Args:
        d_k: width of a head's queries and keys.
        d_v: width of a head's values; default d_k.
        reach: k in the paper, the greatest offset with a vector of its own.
        dropout: probability of dropping an attention weight.
    """

    def __init__(self, d_k: int, d_v: int | None = None, *, reach: int = 16, dropout: float = 0.0) -> None:
        super().__init__()
        self.reach = reach
        self.keys = nn.Parameter(torch.empty(2 * reach + 1, d_k))
        self.values = nn.Parameter(torch.empty(2 * reach + 1, d_v or d_k))
        for table in (self.keys, self.values):
            nn.init.xavier_uniform_(table)
        self.dropout = Dropout(dropout)

    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:
        """See :class:`ScoreFunction`."""
        # A product with the 2 k + 1 vectors, of which each pair takes its own: no (Q, K, d_k) tensor.
        by_offset_BHQr = q_BHQd @ self.keys.to(q_BHQd.dtype).T
        rows_QK = self._rows(q_BHQd, k_BHKd)
        relative_BHQK = by_offset_BHQr.gather(3, rows_QK.expand(*by_offset_BHQr.shape[:2], -1, -1))
        return (q_BHQd @ k_BHKd.mT + relative_BHQK) / math.sqrt(q_BHQd.shape[-1])

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """See :class:`ScoreFunction`."""
        weights_BHQK: Tensor = self.dropout(self.weights(q, k, allowed))
        rows_QK = self._rows(q, k).expand_as(weights_BHQK)
        by_offset = weights_BHQK.new_zeros(*weights_BHQK.shape[:3], len(self.values))
        by_offset_BHQr = by_offset.scatter_add(3, rows_QK, weights_BHQK)
        return weights_BHQK @ v + by_offset_BHQr @ self.values.to(weights_BHQK.dtype)

    def _rows(self, q: Tensor, k: Tensor) -> Tensor:
        """The row of each pair's offset in the tables, (Q, K)."""
        return offsets(q.shape[2], k.shape[2], q.device).clamp(-self.reach, self.reach) + self.reach


class QueryKeyNorm(ScoreFunction):
    """softmax(g q^ . k^) V with q^ and k^ of unit length and a learned g (Henry et al. 2020, eq. 3).

    A score cannot exceed g, however large queries and keys grow.

    Args:
        length: L of the texts, for which g starts at log2(L^2 - L) (eq. 5).
        dropout: probability of dropping an attention weight.
    """

    def __init__(self, length: int = 64, dropout: float = 0.0) -> None:
        super().__init__()
        self.g = nn.Parameter(torch.tensor(math.log2(length**2 - length)))
        self.dropout = Dropout(dropout)

    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:
        """See :class:`ScoreFunction`."""
        q, k = F.normalize(q_BHQd, dim=-1), F.normalize(k_BHKd, dim=-1)
        return self.g.to(q.dtype) * q @ k.mT

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """See :class:`ScoreFunction`."""
        weights: Tensor = self.dropout(ops.masked_softmax(self.scores(q, k), allowed))
        return weights @ v
