"""Score functions: the compatibility of a query with a key. Softmax over the keys gives the weights.

Queries and keys arrive projected, because a decoder projects the source once and attends to it at every step
(Bahdanau et al. 2015, appendix A.1.2). ``multihead.nn.parts.alignment`` has the projections of each paper;
``MultiHeadAttention(score=...)`` uses those of its heads.
"""

import torch
from torch import Tensor, nn

from multihead.nn import ops
from multihead.nn.description import ScoreSpec
from multihead.nn.kernels.additive_score import additive_scores


class ScoreFunction(nn.Module):
    """softmax(score(q, k)) V; a subclass defines ``scores``. Inspection finds it by its ``weights``."""

    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:
        """The score of each query with each key, (B, H, Q, K)."""
        raise NotImplementedError

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The softmax of the scores over the allowed keys, (B, H, Q, K); rows sum to 1 or are 0."""
        return ops.masked_softmax(self.scores(q, k), allowed)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The weighted mean of the values, (B, H, Q, d_v).

        Args:
            q: queries, (B, H, Q, d).
            k: keys, (B, H, K, d).
            v: values, (B, H, K, d_v).
            allowed: True = may attend, broadcastable to (B, H, Q, K); None: everything.
        """
        return self.weights(q, k, allowed) @ v


class DotScore(ScoreFunction):
    """score(q, k) = q . k, unscaled (Luong et al. 2015, sec. 3.1; Gehring et al. 2017, eq. 1)."""

    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:
        """See :class:`ScoreFunction`."""
        return q_BHQd @ k_BHKd.mT

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """See :class:`ScoreFunction`. Queries are multiplied by sqrt(d) to undo the kernels' scale."""
        return ops.attention(q * q.shape[-1] ** 0.5, k, v, allowed)

    def describe(self) -> ScoreSpec:
        """The description that engines and exports read."""
        return ScoreSpec("dot", scaled=False)


class AdditiveScore(ScoreFunction):
    """score(q, k) = v . tanh(q + k) (Bahdanau et al. 2015, appendix A.1.2), with a learned v of width d."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.v = nn.Parameter(torch.empty(d))
        nn.init.normal_(self.v, std=d**-0.5)

    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:
        """See :class:`ScoreFunction`."""
        return (q_BHQd[:, :, :, None] + k_BHKd[:, :, None]).tanh() @ self.v

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """See :class:`ScoreFunction`."""
        return ops.masked_softmax(additive_scores(q, k, self.v), allowed) @ v

    def describe(self) -> ScoreSpec:
        """The description that engines and exports read."""
        return ScoreSpec("additive", scaled=False, v=self.v)
