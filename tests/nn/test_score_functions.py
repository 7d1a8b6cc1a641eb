"""Every score against its formula, written as plain loops over single vectors."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from multihead.nn import MultiHeadAttention, masks
from multihead.nn.parts.alignment import ALIGNMENTS, Additive, AlignmentModel, Concat, General
from multihead.nn.score_functions import AdditiveScore, DotScore, ScoreFunction

B, Q, S, D_S, D_H, D = 2, 3, 5, 11, 7, 13
LENGTHS = torch.tensor([5, 3])

Formula = Callable[[AlignmentModel, Tensor, Tensor], Tensor]
"""(alignment, one s, one h) -> their score"""


def additive(alignment: AlignmentModel, s: Tensor, h: Tensor) -> Tensor:
    assert isinstance(alignment, Additive)
    assert isinstance(alignment.score, AdditiveScore)
    return alignment.score.v @ (alignment.w_a.weight @ s + alignment.u_a.weight @ h).tanh()


def concat(alignment: AlignmentModel, s: Tensor, h: Tensor) -> Tensor:
    assert isinstance(alignment, Concat)
    assert isinstance(alignment.score, AdditiveScore)
    return alignment.score.v @ (alignment.w_a.weight @ torch.cat([s, h])).tanh()


def general(alignment: AlignmentModel, s: Tensor, h: Tensor) -> Tensor:
    assert isinstance(alignment, General)
    return s @ alignment.w_a.weight.T @ h


def dot(alignment: AlignmentModel, s: Tensor, h: Tensor) -> Tensor:
    return sum((a * b for a, b in zip(s, h, strict=True)), torch.zeros(()))


FORMULAS: dict[str, Formula] = {"additive": additive, "dot": dot, "general": general, "concat": concat}


@pytest.mark.parametrize("name", ALIGNMENTS)
@torch.no_grad()
def test_a_score_is_its_formula(name: str) -> None:
    d_s = D_H if name == "dot" else D_S
    alignment = ALIGNMENTS[name](d_s, D_H, D)
    s_BQd, h_BSd = torch.randn(B, Q, d_s), torch.randn(B, S, D_H)
    allowed = masks.padding(LENGTHS, S)
    keys = alignment.keys(h_BSd)
    contexts = alignment(s_BQd, keys, h_BSd, allowed)
    weights = alignment.score.weights(alignment.query(s_BQd)[:, None], keys[:, None], allowed)
    assert contexts.shape == (B, Q, D_H)
    assert weights.shape == (B, 1, Q, S)
    for b, length in enumerate(LENGTHS.tolist()):
        for q in range(Q):
            scores = [float(FORMULAS[name](alignment, s_BQd[b, q], h_BSd[b, j])) for j in range(length)]
            mass = sum(math.exp(score) for score in scores)
            alphas = [math.exp(score) / mass for score in scores] + [0.0] * (S - length)
            assert weights[b, 0, q].tolist() == pytest.approx(alphas, abs=1e-6)
            context = sum((alpha * h for alpha, h in zip(alphas, h_BSd[b], strict=True)), torch.zeros(D_H))
            assert_close(contexts[b, q], context, atol=1e-5, rtol=0)


def test_a_dot_score_needs_equal_widths() -> None:
    with pytest.raises(ValueError, match="the dot score needs equal widths, not 11 and 7"):
        ALIGNMENTS["dot"](D_S, D_H, D)


def test_a_concat_score_is_an_additive_score_with_concatenated_matrices() -> None:
    one, other = Concat(D_S, D_H, D), Additive(D_S, D_H, D)
    weights = torch.cat([other.w_a.weight, other.u_a.weight], dim=1)
    one.load_state_dict({"w_a.weight": weights, "score.v": other.get_parameter("score.v")})
    s_BQd, h_BSd = torch.randn(B, Q, D_S), torch.randn(B, S, D_H)
    assert_close(one(s_BQd, one.keys(h_BSd), h_BSd, None), other(s_BQd, other.keys(h_BSd), h_BSd, None))


@pytest.mark.parametrize("score", [DotScore(), AdditiveScore(7)])
def test_multi_head_attention_takes_any_score(score: ScoreFunction) -> None:
    attention = MultiHeadAttention(14, 3, d_k=7, score=score)
    x_BQd, memory_BSd = torch.randn(B, Q, 14), torch.randn(B, S, 14)
    allowed = masks.padding(LENGTHS, S)
    mixed = attention(x_BQd, memory_BSd, allowed)
    q, (k, v) = attention.queries(x_BQd), attention.keys_values(memory_BSd)
    expected = attention.w_o((score.weights(q, k, allowed) @ v).transpose(1, 2).flatten(2))
    assert_close(mixed, expected)
    assert_close(score.weights(q, k, allowed).sum(-1), torch.ones(B, 3, Q))


def test_a_dot_score_is_not_scaled_and_grows_with_the_width() -> None:
    narrow, wide = (DotScore().scores(torch.randn(1, 1, 101, d), torch.randn(1, 1, 101, d)) for d in (4, 256))
    assert 6 < float(wide.std() / narrow.std()) < 10
