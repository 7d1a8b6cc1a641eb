"""A tensor fanned out to two consumers: its gradient is the sum of theirs."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.nn import PostNorm, PreNorm
from multihead.nn.kernels.residual import fan_out

pytestmark = pytest.mark.usefixtures("every_level")

SHAPES = pytest.mark.parametrize("shape", [(7, 3, 67), (1, 1), (5, 256)])


def leaf(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.bfloat16).requires_grad_()


@SHAPES
def test_gradients_are_summed(shape: tuple[int, ...]) -> None:
    x, a, b = leaf(*shape), leaf(*shape).detach(), leaf(*shape).detach()
    first, second = fan_out(x)
    assert first.equal(x)
    assert second.equal(x)
    (found,) = torch.autograd.grad([first, second], x, [a, b])
    assert found.equal(a + b)


def test_gradients_with_other_strides_are_summed() -> None:
    x, a = leaf(5, 7), leaf(7, 5).detach().T
    first, second = fan_out(x)
    (found,) = torch.autograd.grad([first, second], x, [a, torch.ones_like(a)])
    assert found.equal(a + 1)


@pytest.mark.parametrize("which", [0, 1])
def test_one_consumer_may_send_no_gradient(which: int) -> None:
    x, a = leaf(5, 7), leaf(5, 7).detach()
    (found,) = torch.autograd.grad(fan_out(x)[which], x, a)
    assert found.equal(a)


def test_without_gradients_both_are_x_itself() -> None:
    x = leaf(5, 7).detach()
    assert all(one is x for one in fan_out(x))


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_a_residual_connection_has_the_same_gradients(kind: type[PostNorm | PreNorm]) -> None:
    residual, layer, x = kind(67, 0.0), nn.Linear(67, 67).bfloat16(), leaf(5, 3, 67)
    out = residual(x, layer)
    plain = residual.norm(x + layer(x)) if kind is PostNorm else x + layer(residual.norm(x))
    found, expected = (torch.autograd.grad(one.float().square().sum(), x)[0] for one in (out, plain))
    assert_close(found, expected, rtol=0.05, atol=0.05)
