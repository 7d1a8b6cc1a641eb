"""Products with packed weights, at every level of processor, against the library's."""

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from multihead import native
from multihead.nn.kernels.packed_linear import PackedLinear

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the native part was not compiled")


@pytest.fixture(params=native.LEVELS or [""], autouse=True)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    name: str = request.param
    with native.use(name):
        yield name


@pytest.mark.parametrize("outputs", [1, 61, 64, 131])
@pytest.mark.parametrize("inputs", [1, 2, 37, 64])
@pytest.mark.parametrize("rows", [1, 5, 101])
def test_it_is_the_product(rows: int, inputs: int, outputs: int) -> None:
    x, weight, bias = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(outputs)
    assert_close(PackedLinear(weight, bias)(x), F.linear(x, weight, bias), rtol=1e-5, atol=1e-4)
    # Inputs that bf16 holds exactly, so that it is the same whether they are rounded or not.
    x, weight = x.bfloat16(), weight.bfloat16()
    expected = F.linear(x.double(), weight.double(), bias.double()).float()
    assert_close(PackedLinear(weight, bias)(x.float()), expected, rtol=1e-5, atol=1e-4)


def test_a_row_does_not_depend_on_the_others() -> None:
    x, packed = torch.randn(101, 37), PackedLinear(torch.randn(131, 37), torch.randn(131))
    together = packed(x)
    for row in (0, 5, 6, 95, 96, 100):
        assert torch.equal(packed(x[row : row + 1])[0], together[row])


def test_several_layers_are_one_product_and_the_first_is_scaled() -> None:
    first, second, x = nn.Linear(13, 7), nn.Linear(13, 5), torch.randn(3, 13)
    packed = PackedLinear.of(torch.float32, first, second, first=0.5)
    assert_close(packed(x), torch.cat([first(x) / 2, second(x)], dim=1), rtol=1e-5, atol=1e-5)


def test_threads_share_the_outputs() -> None:
    x, weight = torch.randn(7, 37), torch.randn(523, 37)
    alone, threads = PackedLinear(weight)(x), torch.get_num_threads()
    try:
        for number in (2, 3, 16):
            torch.set_num_threads(number)
            assert torch.equal(PackedLinear(weight)(x), alone)
    finally:
        torch.set_num_threads(threads)


def test_nothing_comes_of_no_rows() -> None:
    assert PackedLinear(torch.randn(5, 3))(torch.empty(0, 3)).shape == (0, 5)
