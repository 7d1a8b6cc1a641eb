"""A tensor for two readers: its gradient is the sum of what both send back."""

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
def test_the_gradients_are_added(shape: tuple[int, ...]) -> None:
    x, a, b = leaf(*shape), leaf(*shape).detach(), leaf(*shape).detach()
    first, second = fan_out(x)
    assert first.equal(x)
    assert second.equal(x)
    (found,) = torch.autograd.grad([first, second], x, [a, b])
    assert found.equal(a + b)


def test_what_lies_in_another_order_is_added_too() -> None:
    x, a = leaf(5, 7), leaf(7, 5).detach().T
    first, second = fan_out(x)
    (found,) = torch.autograd.grad([first, second], x, [a, torch.ones_like(a)])
    assert found.equal(a + 1)


@pytest.mark.parametrize("which", [0, 1])
def test_one_reader_may_say_nothing(which: int) -> None:
    x, a = leaf(5, 7), leaf(5, 7).detach()
    (found,) = torch.autograd.grad(fan_out(x)[which], x, a)
    assert found.equal(a)


def test_where_nothing_is_learnt_it_is_x_itself() -> None:
    x = leaf(5, 7).detach()
    assert all(one is x for one in fan_out(x))


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_a_residual_connection_learns_what_it_did(kind: type[PostNorm | PreNorm]) -> None:
    residual, layer, x = kind(67, 0.0), nn.Linear(67, 67).bfloat16(), leaf(5, 3, 67)
    out = residual(x, layer)
    plain = residual.norm(x + layer(x)) if kind is PostNorm else x + layer(residual.norm(x))
    found, expected = (torch.autograd.grad(one.float().square().sum(), x)[0] for one in (out, plain))
    assert_close(found, expected, rtol=0.05, atol=0.05)
