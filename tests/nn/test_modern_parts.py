"""Modern parts of Transformers against their equations, PyTorch's modules and Hugging Face's code."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm

from multihead.nn import MultiHeadAttention
from multihead.nn.modules import RMSNorm, set_epsilon
from multihead.nn.parts.gated_feed_forward import GatedFeedForward
from multihead.nn.parts.relative_scores import LinearBiases, QueryKeyNorm, RelativePositions, offsets, slopes
from multihead.nn.parts.rotary import HalfRotaryPositions, RotaryPositions
from multihead.nn.residual import PreRMSNorm
from multihead.nn.score_functions import ScoreFunction

B, H, Q, K, D, D_V = 2, 3, 5, 7, 11, 13


def qkv(queries: int = K) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(B, H, queries, D), torch.randn(B, H, K, D), torch.randn(B, H, K, D_V)


# --- norms and feed-forward networks -----------------------------------------------------------------------


def test_an_rms_norm_is_its_equation_and_llamas() -> None:
    norm, theirs = RMSNorm(D), LlamaRMSNorm(D, eps=0.03)
    set_epsilon(norm, 0.03)
    for weight in (norm.weight, theirs.weight):
        weight.data = torch.linspace(0.5, 2, D)
    x = torch.randn(B, K, D)
    root = (x.square().sum(dim=-1, keepdim=True) / D + 0.03).sqrt()
    assert_close(norm(x), norm.weight * x / root)
    assert_close(norm(x), theirs(x))


def test_pre_rms_norm_adds_the_sublayer_of_the_norm() -> None:
    around, x = PreRMSNorm(D, 0.0).eval(), torch.randn(B, K, D)
    assert_close(around(x, torch.sin), x + around.norm(x).sin())
    assert isinstance(around.norm, RMSNorm)


@pytest.mark.parametrize("kind", ["swiglu", "geglu"])
def test_a_gated_network_is_its_equation(kind: str) -> None:
    network, x = GatedFeedForward(D, 17, activation=kind, bias=True), torch.randn(B, K, D)
    gate = x @ network.w_g.weight.T + network.w_g.bias
    share = {"swiglu": 1 / (1 + (-gate).exp()), "geglu": (1 + torch.erf(gate / math.sqrt(2))) / 2}
    inner = gate * share[kind] * (x @ network.w_1.weight.T + network.w_1.bias)
    assert_close(network(x), inner @ network.w_2.weight.T + network.w_2.bias)


def test_swiglu_is_llamas_network() -> None:
    network: Any = LlamaMLP
    theirs = network(
        LlamaConfig(hidden_size=12, intermediate_size=17, num_attention_heads=3, num_key_value_heads=3)
    )
    ours, x = GatedFeedForward(12, 17), torch.randn(B, K, 12)
    ours.load_state_dict(
        {f"{our}.weight": getattr(theirs, their).weight for our, their in
         (("w_g", "gate_proj"), ("w_1", "up_proj"), ("w_2", "down_proj"))}
    )  # fmt: skip
    assert_close(ours(x), theirs(x))


# --- linear biases (Press et al. 2022) ---------------------------------------------------------------------


@pytest.mark.parametrize("heads", [1, 2, 8, 12, 16, 7])
def test_the_slopes_are_the_papers_and_blooms(heads: int) -> None:
    theirs = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1]
    assert_close(slopes(heads), theirs)
    if heads == 8:
        assert slopes(8).tolist() == [2.0**-n for n in range(1, 9)]


def test_linear_biases_are_their_equation() -> None:
    part, (q, k, v) = LinearBiases(H), qkv(Q)
    weights = part.weights(q, k)
    for h in range(H):
        for i in range(Q):
            at = K - Q + i
            scores = torch.stack(
                [q[:, h, i] @ k[:, h, j].T / math.sqrt(D) - slopes(H)[h] * abs(at - j) for j in range(K)]
            ).diagonal(dim1=1, dim2=2)
            assert_close(weights[:, h, i], scores.T.softmax(dim=-1))
    assert_close(part(q, k, v), weights @ v)


# --- relative positions (Shaw et al. 2018) -----------------------------------------------------------------


@pytest.mark.parametrize("reach", [2, 16])
def test_relative_positions_are_their_equations(reach: int) -> None:
    part, (q, k, v) = RelativePositions(D, D_V, reach=reach), qkv(Q)
    expected = torch.zeros(B, H, Q, D_V)
    for b in range(B):
        for h in range(H):
            for i in range(Q):
                rows = [max(-reach, min(reach, j - (K - Q + i))) + reach for j in range(K)]
                keys, values = k[b, h] + part.keys[rows], v[b, h] + part.values[rows]
                expected[b, h, i] = (keys @ q[b, h, i] / math.sqrt(D)).softmax(0) @ values
    assert_close(part(q, k, v), expected)


def test_offsets_end_at_the_last_key() -> None:
    assert offsets(2, 4).tolist() == [[-2, -1, 0, 1], [-3, -2, -1, 0]]


# --- query-key norm (Henry et al. 2020) --------------------------------------------------------------------


def test_query_key_norm_is_its_equation_and_ignores_length() -> None:
    part, (q, k, v) = QueryKeyNorm(length=9), qkv(Q)
    assert part.g.item() == pytest.approx(math.log2(72))
    cosines = torch.cosine_similarity(q[:, :, :, None], k[:, :, None], dim=-1)
    assert_close(part(q, k, v), (part.g * cosines).softmax(dim=-1) @ v)
    assert_close(part(50 * q, k / 7, v), part(q, k, v))


# --- in multi-head attention -------------------------------------------------------------------------------

SCORES: list[ScoreFunction] = [LinearBiases(3), RelativePositions(5, reach=2), QueryKeyNorm()]


@pytest.mark.parametrize("score", SCORES, ids=lambda score: type(score).__name__)
def test_a_cached_step_equals_the_whole_sequence(score: ScoreFunction) -> None:
    attend, x = MultiHeadAttention(15, 3, score=score).eval(), torch.randn(B, K, 15)
    causal = torch.ones(K, K, dtype=torch.bool).tril()
    whole = attend(x, x, causal)
    for n in range(K):
        keys, values = attend.keys_values(x[:, : n + 1])
        step = attend.attend(attend.queries(x[:, n : n + 1]), keys, values, None)
        assert_close(step[:, 0], whole[:, n])


@pytest.mark.parametrize("score", SCORES, ids=lambda score: type(score).__name__)
def test_masked_keys_have_no_weight_and_every_parameter_learns(score: ScoreFunction) -> None:
    attend, x = MultiHeadAttention(15, 3, score=score), torch.randn(B, K, 15)
    allowed = torch.rand(K, K) > 0.4
    allowed.fill_diagonal_(True)
    q, k = attend.queries(x), attend.keys_values(x)[0]
    weights = score.weights(q, k, allowed)
    assert not weights.masked_select(~allowed).any()
    assert_close(weights.sum(dim=-1), torch.ones(B, 3, K))
    attend(x, x, allowed).square().sum().backward()
    for name, parameter in score.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0


def test_memory_of_another_width_is_pytorchs() -> None:
    ours = MultiHeadAttention(15, 3, d_memory=7)
    theirs = nn.MultiheadAttention(15, 3, kdim=7, vdim=7, batch_first=True)
    with torch.no_grad():
        for part, weight in ((ours.w_q, theirs.q_proj_weight), (ours.w_k, theirs.k_proj_weight),
                             (ours.w_v, theirs.v_proj_weight)):  # fmt: skip
            part.weight.copy_(weight)
            nn.init.zeros_(part.bias)
        ours.w_o.load_state_dict(theirs.out_proj.state_dict())
    x, memory = torch.randn(B, Q, 15), torch.randn(B, K, 7)
    assert_close(ours(x, memory), theirs(x, memory, memory)[0])


def test_rotating_halves_is_rotating_pairs_in_another_order() -> None:
    x = torch.randn(B, H, K, 10)
    order = [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]
    halves = HalfRotaryPositions(10)(x, start=3)
    assert_close(halves[..., order], RotaryPositions(10)(x[..., order], start=3))
