"""Products with packed weights, at every level of processor, against the library's."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.engines.native import packed_linear
from multihead.engines.native.tensors import in_arrays
from multihead.nn.description import describe_linear
from multihead.system.native import FORMATS

DTYPES = [torch.float32, torch.bfloat16, torch.int8]


class PackedLinear:
    """A packed layer that takes and returns tensors."""

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        arrays = weight.float().numpy(), None if bias is None else bias.numpy()
        self._packed = packed_linear.PackedLinear(*arrays, FORMATS[dtype])

    def __call__(self, x_Md: Tensor) -> Tensor:
        return torch.from_numpy(self._packed(x_Md.numpy()))


pytestmark = pytest.mark.usefixtures("native_level")


@pytest.mark.parametrize("outputs", [1, 61, 64, 131])
@pytest.mark.parametrize("inputs", [1, 2, 37, 64, 331])
@pytest.mark.parametrize("rows", [1, 5, 101])
def test_it_is_the_product(rows: int, inputs: int, outputs: int) -> None:
    x, weight, bias = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(outputs)
    assert_close(
        PackedLinear(weight, bias, torch.float32)(x), F.linear(x, weight, bias), rtol=1e-5, atol=1e-4
    )
    # Inputs that bf16 represents exactly, so that rounding does not matter.
    x, weight = x.bfloat16(), weight.bfloat16()
    expected = F.linear(x.double(), weight.double(), bias.double()).float()
    assert_close(PackedLinear(weight, bias, torch.bfloat16)(x.float()), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("outputs", [1, 61, 131])
@pytest.mark.parametrize("inputs", [1, 2, 3, 37, 64, 331])
@pytest.mark.parametrize("rows", [1, 5, 101])
def test_in_int8_it_is_the_exact_integer_product(rows: int, inputs: int, outputs: int) -> None:
    x, weight, bias = 3 * torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(outputs)
    weight[0], x[0] = 0, 0  # without a scale
    x_scale, weight_scale = (part.abs().amax(1, keepdim=True) / 127 for part in (x, weight))
    # Rounded as the kernel does: halves up, in float32.
    x_bytes = (x * (127 / x.abs().amax(1, keepdim=True)) + 128.5).nan_to_num(128.0).floor() - 128
    weight_bytes = (weight / weight_scale).nan_to_num(0.0).round()
    expected = x_bytes.double() @ weight_bytes.double().T * (x_scale * weight_scale.T).double() + bias
    assert_close(PackedLinear(weight, bias, torch.int8)(x), expected.float(), rtol=1e-5, atol=1e-5)
    # Half a quantisation step of either factor, for each input.
    error = (x_scale * weight.abs().sum(1) + weight_scale.T * x.abs().sum(1, keepdim=True)) / 2
    assert ((expected - F.linear(x, weight, bias)).abs() <= 1.01 * error + 1e-5).all()


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_in_int8_nan_and_infinity_propagate(bad: float) -> None:
    x = torch.randn(5, 37)
    x[1, 7] = bad
    out = PackedLinear(torch.randn(13, 37), None, torch.int8)(x)
    assert out[1].isnan().all()
    assert out[[0, 2, 3, 4]].isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_does_not_depend_on_the_others(dtype: torch.dtype) -> None:
    x, packed = torch.randn(101, 37), PackedLinear(torch.randn(131, 37), torch.randn(131), dtype)
    together = packed(x)
    for row in (0, 5, 6, 95, 96, 100):
        assert torch.equal(packed(x[row : row + 1])[0], together[row])


@pytest.mark.parametrize("dtype", DTYPES)
def test_tile_configurations_of_other_libraries_are_restored(dtype: torch.dtype) -> None:
    x, packed, half = (
        torch.randn(21, 331),
        PackedLinear(torch.randn(131, 331), None, dtype),
        torch.randn(37, 331),
    )
    half = half.bfloat16()
    ours, theirs = packed(x), half @ half.T
    for _ in range(3):
        assert torch.equal(half @ half.T, theirs)
        assert torch.equal(packed(x), ours)


def test_several_layers_are_one_product_and_the_first_is_scaled() -> None:
    first, second, x = nn.Linear(13, 7), nn.Linear(13, 5), torch.randn(3, 13)
    parts = in_arrays((describe_linear(first), describe_linear(second)))
    packed = packed_linear.PackedLinear.of("float32", *parts, first=0.5)
    assert_close(
        torch.from_numpy(packed(x.numpy())), torch.cat([first(x) / 2, second(x)], dim=1), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_large_output_with_non_temporal_stores_is_the_same(dtype: torch.dtype) -> None:
    x, packed = torch.randn(2053, 5), PackedLinear(torch.randn(528, 5), torch.randn(528), dtype)
    together = packed(x)
    for first in range(0, 2053, 401):
        assert torch.equal(packed(x[first : first + 401]), together[first : first + 401])


@pytest.mark.parametrize("dtype", DTYPES)
def test_threads_divide_the_outputs(dtype: torch.dtype) -> None:
    x, weight = torch.randn(7, 37), torch.randn(523, 37)
    alone, threads = PackedLinear(weight, None, dtype)(x), torch.get_num_threads()
    try:
        for number in (2, 3, 16):
            torch.set_num_threads(number)
            assert torch.equal(PackedLinear(weight, None, dtype)(x), alone)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_rows_give_no_rows(dtype: torch.dtype) -> None:
    assert PackedLinear(torch.randn(5, 3), None, dtype)(torch.empty(0, 3)).shape == (0, 5)
