"""Inputs that would make native kernels read or write out of bounds are refused, or left to PyTorch."""

import copy
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from multihead.engines.native.packed_linear import PackedLinear
from multihead.nn.kernels import short_attention
from multihead.nn.kernels.additive_score import additive_scores
from multihead.nn.kernels.linear_cross_entropy import linear_cross_entropy
from multihead.nn.ops import relu, residual_norm
from multihead.search.distribution import largest, log_normaliser
from multihead.system import native

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the native part was not compiled")


@pytest.fixture
def narrow_by_default() -> Iterator[None]:
    torch.set_default_dtype(torch.bfloat16)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("target", [11, 2**40, -2, -100])
def test_a_target_out_of_range_is_refused(target: int) -> None:
    hidden, weight = torch.randn(5, 7), torch.randn(11, 7)
    with pytest.raises(IndexError, match="outside 0 to 10"):
        linear_cross_entropy(hidden, weight, torch.tensor([0, 1, target, 3, 4]), 0.1)


def test_targets_may_be_integers_of_any_width() -> None:
    hidden, weight, targets = torch.randn(5, 7), torch.randn(11, 7), torch.arange(5)
    narrow = linear_cross_entropy(hidden, weight, targets.int(), 0.1)
    assert_close(narrow, linear_cross_entropy(hidden, weight, targets, 0.1))


@pytest.mark.usefixtures("narrow_by_default")
def test_float32_outputs_do_not_follow_the_default_dtype() -> None:
    q = torch.randn(2, 3, 71, 13, dtype=torch.float32, requires_grad=True)
    x, norm = torch.randn(7, 131, dtype=torch.float32, requires_grad=True), nn.LayerNorm(131).float()
    loss = short_attention.attend(q, q, q, None, 0.0).sum() + residual_norm(x, x, norm, 0.0).sum()
    torch.autograd.backward(loss)
    logits = torch.randn(71, 131, dtype=torch.float32)
    assert log_normaliser(logits, 0).dtype == largest(logits, 5)[0].dtype == torch.float32
    assert loss.isfinite()


def test_the_kernel_declines_inconsistent_attention_shapes() -> None:
    q, k, v = torch.randn(1, 2, 5, 16), torch.randn(1, 2, 3, 16), torch.randn(1, 2, 3, 7)
    assert short_attention.suits(q, k, v, None)
    assert not short_attention.suits(q, k, torch.randn(1, 2, 9, 7), None)
    assert not short_attention.suits(torch.randn(1, 2, 5, 64), k, v, None)
    assert not short_attention.suits(torch.randn(1, 2, 0, 16), k, v, None)


def test_additive_scores_are_in_the_format_of_the_queries() -> None:
    q, k, v = (torch.randn(*shape).bfloat16() for shape in ((2, 3, 5, 7), (2, 3, 11, 7), (7,)))
    assert additive_scores(q, k, v).dtype == torch.bfloat16


def test_objects_whose_addresses_kernels_hold_cannot_be_copied() -> None:
    packed = PackedLinear(np.ones((3, 5), np.float32), None, "float32")
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.deepcopy(packed)


def test_empty_inputs_give_empty_outputs() -> None:
    values, columns = largest(torch.randn(3, 100), 0)
    assert values.shape == columns.shape == (3, 0)


def test_relus_gradient_at_nan_is_pytorchs() -> None:
    x, g = torch.tensor([torch.nan, 1.0, -1.0, 0.0] * 9, requires_grad=True), torch.randn(36)
    (found,), (expected,) = (torch.autograd.grad(f(x), x, g) for f in (relu, torch.relu))
    assert found.equal(expected)


class Elsewhere(torch.Tensor):
    """A tensor whose elements, as those of a ``DTensor``, need not lie at its address."""


def test_a_tensor_subclass_never_reaches_a_kernel() -> None:
    x = torch.randn(7, 131)
    strange = x.as_subclass(Elsewhere)
    assert not native.suits(strange)
    assert not native.suits(x, strange)
    assert_close(relu(strange).as_subclass(torch.Tensor), relu(x))
    out = torch.empty_like(x)
    with pytest.raises(TypeError, match="plain tensors, not Elsewhere"):
        native.call("relu", torch.float32, strange, out, x.numel())
    with pytest.raises(TypeError, match="plain tensors, not Elsewhere"):
        native.tensor_address(strange)
