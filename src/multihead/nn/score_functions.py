"""Score functions: how well a query matches a key. The softmax over the keys is the attention.

They work on queries and keys that have been projected already, because a decoder projects the source once
and then asks it at every step (Bahdanau et al. 2015, appendix A.1.2); the projections of each paper are in
``multihead.nn.alignment``. In ``MultiHeadAttention(score=...)`` the projections are those of the heads.
"""

import torch
from torch import Tensor, nn

from multihead.nn import ops
from multihead.nn.description import ScoreSpec
from multihead.nn.kernels.additive_score import additive_scores


class ScoreFunction(nn.Module):
    """softmax(score(q, k)) V; a subclass has the score. Inspection finds it by its ``weights``."""

    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:
        """How well each query matches each key, (B, H, Q, K)."""
        raise NotImplementedError

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The softmax of the scores over the allowed keys, (B, H, Q, K); rows sum to 1."""
        return ops.masked_softmax(self.scores(q, k), allowed)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """The mean of the values under the weights, (B, H, Q, d_v).

        Args:
            q: queries, (B, H, Q, d).
            k: keys, (B, H, K, d).
            v: values, (B, H, K, d_v).
            allowed: True = may attend, broadcastable to (B, H, Q, K); None: everything.
        """
        return self.weights(q, k, allowed) @ v


class DotScore(ScoreFunction):
    """score(q, k) = q . k, not scaled (Luong et al. 2015, sec. 3.1; Gehring et al. 2017, eq. 1)."""

    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:
        """See :class:`ScoreFunction`."""
        return q_BHQd @ k_BHKd.mT

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        """See :class:`ScoreFunction`. Queries sqrt(d) times as large undo the scale of the kernels."""
        return ops.attention(q * q.shape[-1] ** 0.5, k, v, allowed)

    def describe(self) -> ScoreSpec:
        """The description that engines and exports read."""
        return ScoreSpec("dot", scaled=False)


class AdditiveScore(ScoreFunction):
    """score(q, k) = v . tanh(q + k) (Bahdanau et al. 2015, appendix A.1.2), v learned, d wide."""

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
