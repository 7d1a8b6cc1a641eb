"""Embedding lookup by the native kernel: the equation, its gradient, and ids out of range."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from multihead.nn import TokenEmbedding
from multihead.nn.ops import lookup

pytestmark = pytest.mark.usefixtures("every_level")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@given(V=st.integers(1, 61), d=st.integers(1, 71), N=st.integers(0, 37), seed=st.integers(0, 999))
def test_lookup_and_gradient_are_the_equation(dtype: torch.dtype, V: int, d: int, N: int, seed: int) -> None:
    torch.manual_seed(seed)
    weight, ids = torch.randn(V, d, requires_grad=True), torch.randint(0, V, (N, 2))
    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        found = lookup(weight, ids, 3.7)
    assert found.dtype == dtype
    assert torch.equal(found, (weight[ids] * 3.7).to(dtype))
    gradient = torch.randn(N, 2, d).to(dtype)
    (back,) = torch.autograd.grad(found, weight, gradient)
    plain = F.one_hot(ids.flatten(), V).double().T @ (3.7 * gradient.double().flatten(0, 1))
    assert_close(back.double(), plain, rtol=1e-5, atol=1e-5)


def test_gradients_do_not_depend_on_threads() -> None:
    weight, ids = torch.randn(31, 67, requires_grad=True), torch.randint(0, 31, (499,))
    gradient, before = torch.randn(499, 67), torch.get_num_threads()
    found = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append(torch.autograd.grad(lookup(weight, ids, 1.0), weight, gradient)[0])
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*found)


@pytest.mark.parametrize("wrong", [-1, 7])
def test_an_id_out_of_range_is_refused(wrong: int) -> None:
    with pytest.raises(IndexError):
        TokenEmbedding(7, 5)(torch.tensor([[0, wrong]]))


def test_other_formats_use_pytorch() -> None:
    weight = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    ids = torch.tensor([1, 1, 6])
    assert torch.equal(lookup(weight, ids, 2.0), 2 * weight[ids])
    apart = torch.randn(7, 10)[:, ::2]
    assert torch.equal(lookup(apart, ids, 2.0), 2 * apart[ids])
