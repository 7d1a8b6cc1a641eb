"""Alignment models: attention of a recurrent decoder's state s over the encoder's states h.

Four scores: ``additive`` (Bahdanau et al. 2015, appendix A.1.2), ``dot``, ``general`` and ``concat`` (Luong
et al. 2015, sec. 3.1). ``keys`` computes the part that depends on the source alone, once per sentence.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn.score_functions import AdditiveScore, DotScore, ScoreFunction


class AlignmentModel(nn.Module):
    """c = sum_j alpha_j h_j, alpha = softmax_j score(s, h_j): the context vector of each state s.

    Args:
        d_s: width of the decoder's states.
        d_h: width of the encoder's states.
        d: hidden width of the score, if it has one.
    """

    def __init__(self, d_s: int, d_h: int, d: int) -> None:
        super().__init__()
        self.score = self._score(d)

    def _score(self, d: int) -> ScoreFunction:
        return DotScore()

    def query(self, s_BQd: Tensor) -> Tensor:
        """The queries of states s, (B, Q, d)."""
        return s_BQd

    def keys(self, h_BSd: Tensor) -> Tensor:
        """The keys of the encoder's states h, (B, S, d)."""
        return h_BSd

    def forward(self, s_BQd: Tensor, keys_BSd: Tensor, h_BSd: Tensor, allowed: Tensor | None) -> Tensor:
        """The context vectors, (B, Q, d_h).

        Args:
            s_BQd: Q states of the decoder for each sentence.
            keys_BSd: ``keys(h)``.
            h_BSd: the encoder's states, used as values.
            allowed: True = may attend, broadcastable to (B, 1, Q, S); None: everything.
        """
        context_B1Qd: Tensor = self.score(
            self.query(s_BQd)[:, None], keys_BSd[:, None], h_BSd[:, None], allowed
        )
        return context_B1Qd[:, 0]


class Dot(AlignmentModel):
    """score(s, h) = s . h (Luong et al. 2015, sec. 3.1, dot).

    Raises:
        ValueError: s and h differ in width.
    """

    def __init__(self, d_s: int, d_h: int, d: int) -> None:
        super().__init__(d_s, d_h, d)
        if d_s != d_h:
            raise ValueError(f"the dot score needs equal widths, not {d_s} and {d_h}")


class General(AlignmentModel):
    """score(s, h) = s . W_a h (Luong et al. 2015, sec. 3.1, general); W_a is applied to s, once per step."""

    def __init__(self, d_s: int, d_h: int, d: int) -> None:
        super().__init__(d_s, d_h, d)
        self.w_a = nn.Linear(d_s, d_h, bias=False)

    def query(self, s_BQd: Tensor) -> Tensor:
        """W_a^T s, (B, Q, d_h)."""
        projected: Tensor = self.w_a(s_BQd)
        return projected


class Additive(AlignmentModel):
    """score(s, h) = v_a . tanh(W_a s + U_a h) (Bahdanau et al. 2015, appendix A.1.2)."""

    def __init__(self, d_s: int, d_h: int, d: int) -> None:
        super().__init__(d_s, d_h, d)
        self.w_a = nn.Linear(d_s, d, bias=False)
        self.u_a = nn.Linear(d_h, d, bias=False)

    def _score(self, d: int) -> ScoreFunction:
        return AdditiveScore(d)

    def query(self, s_BQd: Tensor) -> Tensor:
        """W_a s, (B, Q, d)."""
        projected: Tensor = self.w_a(s_BQd)
        return projected

    def keys(self, h_BSd: Tensor) -> Tensor:
        """U_a h, (B, S, d)."""
        projected: Tensor = self.u_a(h_BSd)
        return projected


class Concat(AlignmentModel):
    """score(s, h) = v_a . tanh(W_a [s; h]) (Luong et al. 2015, sec. 3.1, concat).

    W_a [s; h] is the sum of two products, one with each half of W_a. This is the additive score, except that
    both halves are initialised as one matrix.
    """

    def __init__(self, d_s: int, d_h: int, d: int) -> None:
        super().__init__(d_s, d_h, d)
        self.d_s = d_s
        self.w_a = nn.Linear(d_s + d_h, d, bias=False)

    def _score(self, d: int) -> ScoreFunction:
        return AdditiveScore(d)

    def query(self, s_BQd: Tensor) -> Tensor:
        """The left half of W_a, times s, (B, Q, d)."""
        return F.linear(s_BQd, self.w_a.weight[:, : self.d_s])

    def keys(self, h_BSd: Tensor) -> Tensor:
        """The right half of W_a, times h, (B, S, d)."""
        return F.linear(h_BSd, self.w_a.weight[:, self.d_s :])


ALIGNMENTS: dict[str, type[AlignmentModel]] = {
    "additive": Additive,
    "dot": Dot,
    "general": General,
    "concat": Concat,
}
"""The alignment models, by the papers' names of their scores."""
