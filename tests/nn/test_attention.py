"""Equation 1 against plain loops and PyTorch; every kernel against equation 1."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import gradcheck
from torch.testing import assert_close

from multihead.errors import UserError
from multihead.nn import DotProductAttention, attention, masks, ops
from multihead.nn.attention import attention_weights
from multihead.system import native

B, H, Q, K, D_K, D_V = 2, 3, 5, 7, 11, 13

Kernel = Callable[[Tensor, Tensor, Tensor, Tensor | None, float], Tensor]


def without_kernels(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, dropout: float) -> Tensor:
    with native.use(""):
        return ops.attention(q, k, v, allowed, dropout)


KERNELS = pytest.mark.parametrize("kernel", [without_kernels, ops.attention])


def queries_keys_values(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    shapes = (B, H, Q, D_K), (B, H, K, D_K), (B, H, K, D_V)
    q, k, v = (torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes)
    return q, k, v


def some_mask() -> Tensor:
    """A random mask for every query of every head, with at least one key."""
    allowed = torch.rand(B, H, Q, K) < 0.5
    return allowed | (torch.arange(K) == torch.randint(K, (B, H, Q, 1)))


def by_loops(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> Tensor:
    out = torch.zeros(B, H, Q, D_V, dtype=q.dtype)
    for b in range(B):
        for h in range(H):
            for i in range(Q):
                seen = [j for j in range(K) if allowed is None or bool(allowed[b, h, i, j])]
                powers = [math.exp(float(q[b, h, i] @ k[b, h, j]) / math.sqrt(D_K)) for j in seen]
                for j, power in zip(seen, powers, strict=True):
                    out[b, h, i] += power / sum(powers) * v[b, h, j]
    return out


@KERNELS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_query_without_any_allowed_key_gets_0_and_no_gradient(kernel: Kernel, dtype: torch.dtype) -> None:
    q, k, v = queries_keys_values(dtype)
    allowed = some_mask()
    allowed[1, 2, 3] = False
    out = kernel(q, k, v, allowed, 0.0)
    assert not out[1, 2, 3].any()
    assert out[1, 2, 4].any()
    assert not attention_weights(q, k, allowed)[1, 2, 3].any()
    gradients = torch.autograd.grad(out.sum(), (q, k, v))
    assert not gradients[0][1, 2, 3].any()
    assert all(gradient.isfinite().all() for gradient in gradients)


@KERNELS
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8])
def test_a_mask_of_numbers_is_refused(kernel: Kernel, dtype: torch.dtype) -> None:
    q, k, v = queries_keys_values(torch.float32)
    numbers = torch.zeros(Q, K).to(dtype)
    kind = str(dtype).removeprefix("torch.")
    with pytest.raises(UserError, match=f"the attention mask is {kind}, but must be boolean"):
        kernel(q, k, v, numbers, 0.0)
    with pytest.raises(UserError, match=f"the attention mask is {kind}, but must be boolean"):
        attention(q, k, v, numbers)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_the_equation_in_plain_loops(masked: bool) -> None:
    q, k, v = (x.detach() for x in queries_keys_values())
    allowed = some_mask() if masked else None
    assert_close(attention(q, k, v, allowed), by_loops(q, k, v, allowed))


@pytest.mark.parametrize("masked", [False, True])
def test_attention_agrees_with_pytorch(masked: bool) -> None:
    q, k, v = queries_keys_values()
    allowed = some_mask() if masked else None
    assert_close(attention(q, k, v, allowed), F.scaled_dot_product_attention(q, k, v, attn_mask=allowed))


def test_weights_sum_to_one_and_are_zero_where_not_allowed() -> None:
    q, k, _ = queries_keys_values()
    allowed = some_mask()
    weights = attention_weights(q, k, allowed)
    assert_close(weights.sum(-1), torch.ones(B, H, Q, dtype=torch.float64))
    assert not weights[~allowed].any()
    assert (weights[allowed] > 0).all()


def test_a_query_without_keys_gets_finite_numbers_and_gradients() -> None:
    q, k, v = queries_keys_values()
    allowed = some_mask()
    allowed[0, 1, 2] = False
    out = attention(q, k, v, allowed)
    out.sum().backward()  # type: ignore[no-untyped-call]
    assert out.isfinite().all()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in (q, k, v))


@KERNELS
@pytest.mark.parametrize("mask", ["none", "full", "padding", "causal"])
def test_every_kernel_has_the_values_and_gradients_of_the_equation(kernel: Kernel, mask: str) -> None:
    q, k, v = queries_keys_values()
    allowed = {
        "none": None,
        "full": some_mask(),
        "padding": masks.padding(torch.tensor([3, 7]), K),
        "causal": masks.causal(K)[:, :, :Q],
    }[mask]
    cotangent = torch.randn(B, H, Q, D_V, dtype=torch.float64)
    expected, found = attention(q, k, v, allowed), kernel(q, k, v, allowed, 0.0)
    assert_close(found, expected)
    assert_close(
        torch.autograd.grad(found, (q, k, v), cotangent),
        torch.autograd.grad(expected, (q, k, v), cotangent),
    )


@KERNELS
def test_every_kernel_passes_the_gradient_check(kernel: Kernel) -> None:
    allowed = some_mask()
    assert gradcheck(lambda q, k, v: kernel(q, k, v, allowed, 0.0), queries_keys_values())


@KERNELS
def test_every_kernel_is_close_to_the_equation_in_bf16(kernel: Kernel) -> None:
    q, k, v = queries_keys_values(torch.bfloat16)
    allowed = some_mask()
    exact = attention(q.double(), k.double(), v.double(), allowed)
    # bf16 has 8 bits: the error of scores below 8 is up to 2^-6, that of weights up to 2 %.
    assert_close(kernel(q, k, v, allowed, 0.0).double(), exact, atol=0.05, rtol=0.02)


@KERNELS
def test_every_kernel_survives_large_scores(kernel: Kernel) -> None:
    q, k, v = (x.detach().float() for x in queries_keys_values())
    found = kernel(1e4 * q, 1e4 * k, v, some_mask(), 0.0)
    assert found.isfinite().all()
    assert found.abs().max() <= v.abs().max() + 1e-6


@KERNELS
def test_every_kernel_drops_weights_and_keeps_their_mean(kernel: Kernel) -> None:
    q, k, _ = (x.detach() for x in queries_keys_values())
    v = torch.ones(B, H, K, 1, dtype=torch.float64)
    out = torch.stack([kernel(q, k, v, None, 0.25) for _ in range(400)])
    assert out.std(0).min() > 0.05
    assert_close(out.mean(), torch.tensor(1.0, dtype=torch.float64), atol=0.01, rtol=0)


def test_the_module_drops_weights_in_training_only_and_never_in_recorded_weights() -> None:
    module = DotProductAttention(dropout=0.5)
    q, k, v = queries_keys_values()
    assert not torch.equal(module(q, k, v), module(q, k, v))
    assert torch.equal(module.weights(q, k), attention_weights(q, k))
    assert_close(module.eval()(q, k, v), attention(q, k, v))
