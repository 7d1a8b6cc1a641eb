"""Rotary positions against complex numbers and Hugging Face's RoFormer."""

import cmath

import pytest
import torch
from torch.testing import assert_close

from multihead.models.transformer import Settings
from multihead.nn import MultiHeadAttention
from multihead.nn.parts.rotary import RotaryPositions

B, H, N, D = 2, 3, 7, 10


def test_a_pair_is_rotated_like_a_complex_number() -> None:
    x = torch.randn(B, H, N, D, dtype=torch.float64)
    found = RotaryPositions(D)(x, start=5)
    for n in range(N):
        for i in range(D // 2):
            turn = cmath.exp(1j * (5 + n) * 10_000 ** (-2 * i / D))
            expected = complex(*x[1, 2, n, 2 * i : 2 * i + 2].tolist()) * turn
            assert_close(complex(*found[1, 2, n, 2 * i : 2 * i + 2].tolist()), expected)


def test_it_is_hugging_faces_roformer() -> None:
    roformer = pytest.importorskip("transformers.models.roformer.modeling_roformer")
    q, k = torch.randn(B, H, N, D), torch.randn(B, H, N, D)
    positions = roformer.RoFormerSinusoidalPositionalEmbedding(31, D)
    if hasattr(positions, "create_weight"):
        positions.weight.data.copy_(positions.create_weight())
    else:
        positions.weight = positions._init_weight() or positions.weight
    sinusoids = positions(torch.Size([B, N]))[None, None]
    apply = roformer.RoFormerSelfAttention.apply_rotary_position_embeddings
    theirs_q, theirs_k = apply(sinusoids, q, k)
    rotary = RotaryPositions(D)
    assert_close(rotary(q), theirs_q, atol=1e-5, rtol=1e-5)
    assert_close(rotary(k), theirs_k, atol=1e-5, rtol=1e-5)


def test_a_score_depends_on_the_distance_alone() -> None:
    q, k = torch.randn(1, 1, 1, D, dtype=torch.float64), torch.randn(1, 1, 1, D, dtype=torch.float64)
    rotary = RotaryPositions(D)

    def score(m: int, n: int) -> torch.Tensor:
        found: torch.Tensor = (rotary(q, m) * rotary(k, n)).sum()
        return found

    assert_close(score(3, 11), score(103, 111))
    assert abs(float(score(3, 11) - score(3, 12))) > 1e-6


def test_norms_are_kept_and_position_0_is_not_rotated() -> None:
    x = torch.randn(B, H, N, D)
    found = RotaryPositions(D)(x)
    assert_close(found.norm(dim=-1), x.norm(dim=-1))
    assert_close(found[:, :, 0], x[:, :, 0])


def test_gradients_are_right() -> None:
    x = torch.randn(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(RotaryPositions(4), x)


def test_cached_steps_attend_like_the_whole_sequence() -> None:
    attention = MultiHeadAttention(12, 3, rotary=RotaryPositions(4))
    x = torch.randn(B, N, 12)
    causal = torch.ones(N, N, dtype=torch.bool).tril()
    whole = attention(x, x, causal)
    keys, values = attention.keys_values(x[:, :4])
    more = attention.keys_values(x[:, 4:], start=4)
    k, v = torch.cat([keys, more[0]], 2), torch.cat([values, more[1]], 2)
    assert_close(attention.attend(attention.queries(x[:, 4:], start=4), k, v, causal[4:]), whole[:, 4:])


def test_an_odd_width_is_refused() -> None:
    with pytest.raises(ValueError, match="d_k 7 is odd"):
        RotaryPositions(7)
    with pytest.raises(ValueError, match="d_k, is odd"):
        Settings(d_model=21, num_heads=3, positions="rotary")
