"""Attention in bf16 at every length, and at widths of whole registers, which have their own products."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from multihead.nn import attention, ops

pytestmark = pytest.mark.usefixtures("native_level")

LENGTHS = st.one_of(st.integers(1, 34), st.integers(60, 68), st.integers(126, 150))


def heads(B: int, H: int, N: int, d: int, room: int = 0) -> Tensor:
    """(B, H, N, d) in a projection's layout; other layers' outputs may lie between its rows."""
    return torch.randn(B, N, H * d + room)[..., : H * d].bfloat16().view(B, N, H, d).transpose(1, 2)


def allowed_of(kind: str, B: int, H: int, Q: int, K: int) -> Tensor | None:
    if kind == "everything":
        return None
    if kind == "padding":
        return (torch.arange(K) < torch.randint(1, K + 1, (B, 1)))[:, None, None]
    if kind == "causal":
        return torch.ones(Q, K, dtype=torch.bool).tril(K - Q)
    return torch.rand(B, H, Q, K) < 0.4


@settings(max_examples=25)
@given(
    B=st.integers(1, 3),
    H=st.integers(1, 3),
    Q=LENGTHS,
    K=LENGTHS,
    d_k=st.sampled_from([32, 64, 96]),
    d_v=st.sampled_from([32, 64]),
    kind=st.sampled_from(["everything", "padding", "causal", "some, or none"]),
    seed=st.integers(0, 999),
)
def test_attention_and_its_gradients(
    B: int, H: int, Q: int, K: int, d_k: int, d_v: int, kind: str, seed: int
) -> None:
    torch.manual_seed(seed)
    sizes = ((Q, d_k), (K, d_k), (K, d_v))
    q, k, v = inputs = [heads(B, H, n, d, seed % 3).requires_grad_() for n, d in sizes]
    allowed = allowed_of(kind, B, H, Q, K)
    found = ops.attention(q, k, v, allowed, 0.0)
    a, b, c = exact_inputs = [x.detach().double().requires_grad_() for x in inputs]
    exact = attention(a, b, c, allowed)
    assert_close(found.double(), exact, rtol=0, atol=1e-2 * float(exact.detach().abs().max()))
    cotangent = torch.randn_like(found)
    gradients = torch.autograd.grad(found, inputs, cotangent)
    wanted = torch.autograd.grad(exact, exact_inputs, cotangent.double())
    largest = max(float(w.abs().max()) for w in wanted)
    for gradient, w in zip(gradients, wanted, strict=True):
        assert_close(gradient.double(), w, rtol=0, atol=1.5e-2 * max(largest, 1e-3))


def test_forward_and_backward_use_the_same_dropout_mask() -> None:
    B, H, Q, K = 2, 3, 71, 32
    q, k, v = (heads(B, H, n, 32).requires_grad_() for n in (Q, K, K))

    def with_dropout(values: Tensor) -> Tensor:
        torch.manual_seed(7)
        return ops.attention(q, k, values, None, 0.5)

    # With unit vectors as values, the output is the weights, which reveal the mask.
    kept = with_dropout(torch.eye(K).bfloat16().expand(B, H, K, K)).detach() != 0
    assert abs(kept.float().mean() - 0.5) < 5 * 0.5 / math.sqrt(kept.numel())
    a, b, c = exact_inputs = [x.detach().double().requires_grad_() for x in (q, k, v)]
    exact = (2 * kept * (a @ b.mT / math.sqrt(32)).softmax(-1)) @ c
    found = with_dropout(v)
    assert_close(found.double(), exact, rtol=0, atol=2e-2 * float(exact.detach().abs().max()))
    cotangent = torch.randn_like(found)
    wanted = torch.autograd.grad(exact, exact_inputs, cotangent.double())
    for gradient, w in zip(torch.autograd.grad(found, (q, k, v), cotangent), wanted, strict=True):
        assert_close(gradient.double(), w, rtol=0, atol=2e-2 * float(w.abs().max()))


def test_very_large_scores_stay_finite() -> None:
    q, k, v = (1e3 * heads(2, 3, n, 32) for n in (71, 19, 19))
    exact = attention(*(x.double() for x in (q, k, v)))
    assert_close(ops.attention(q, k, v, None, 0.0).double(), exact, rtol=1e-2, atol=10)


def test_nan_propagates_and_stays_in_its_sentence() -> None:
    q, k, v = (heads(2, 3, n, 64) for n in (71, 19, 19))
    q[0, 1, 2, 3] = math.nan
    out = ops.attention(q, k, v, None, 0.0)
    assert out[0, 1, 2].isnan().all()
    assert int(out.isnan().sum()) == 64
