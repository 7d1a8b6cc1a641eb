"""Gated convolutions against PyTorch's convolution, and against themselves step by step."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from multihead.nn.kernels.byte_products import int8_training
from multihead.nn.parts.convolution import GatedConvolution, scaled_linear
from multihead.system import native

B, N, D = 3, 11, 7

KERNELS = pytest.mark.parametrize("kernel_size", [1, 3, 5])


def gated(kernel_size: int, dropout: float = 0.0, *, normalised: bool = False) -> GatedConvolution:
    layer = GatedConvolution(D, kernel_size, dropout=dropout, normalised=normalised)
    torch.nn.init.normal_(layer.w.bias)
    return layer


def by_pytorch(layer: GatedConvolution, padded_BMd: torch.Tensor) -> torch.Tensor:
    # Ours reads [x_1; x_2; ...]: (out, kernel_size * d); theirs (out, d, kernel_size).
    weight = layer.w.weight.view(2 * D, layer.kernel_size, D).transpose(1, 2)
    return F.glu(F.conv1d(padded_BMd.mT, weight, layer.w.bias), dim=1).mT


@KERNELS
@pytest.mark.parametrize("normalised", [False, True])
def test_it_is_pytorchs_convolution_and_gate(kernel_size: int, normalised: bool) -> None:
    layer, x = gated(kernel_size, normalised=normalised), torch.randn(B, N, D)
    side = kernel_size // 2
    assert_close(layer(x), by_pytorch(layer, F.pad(x, (0, 0, side, side))))
    past = torch.zeros(B, kernel_size - 1, D)
    whole, _ = layer.after(past, x)
    assert_close(whole, by_pytorch(layer, F.pad(x, (0, 0, kernel_size - 1, 0))))


@KERNELS
def test_a_causal_convolution_in_parts_equals_the_whole(kernel_size: int) -> None:
    layer, x = gated(kernel_size), torch.randn(B, N, D)
    beginning = torch.zeros(B, kernel_size - 1, D)
    whole, _ = layer.after(beginning, x)
    parts, past = [], beginning
    for part in torch.split(x, [1, 1, 5, 3, 1], dim=1):
        out, past = layer.after(past, part)
        assert past.shape == beginning.shape
        parts.append(out)
    assert_close(torch.cat(parts, dim=1), whole)


def test_dropout_is_not_applied_twice_to_the_past() -> None:
    layer, x = gated(3, dropout=0.5), torch.ones(1, 1, D)
    _, past = layer.after(torch.zeros(1, 2, D), x)
    _, later = layer.after(past, x)
    assert torch.equal(later[:, 0], past[:, 1])


@pytest.mark.parametrize("normalised", [False, True])
def test_a_linear_layer_is_initialised_with_the_papers_variance(normalised: bool) -> None:
    layer = scaled_linear(211, 199, gain=4, dropout=0.25, normalised=normalised)
    assert layer.weight.var().item() == pytest.approx(4 * 0.75 / 211, rel=0.05)
    assert not layer.bias.any()


def test_a_normalised_matrix_is_direction_times_length() -> None:
    layer = scaled_linear(5, 3, normalised=True)
    g, v = (parameter for name, parameter in layer.named_parameters() if name != "bias")
    assert {tuple(g.shape), tuple(v.shape)} == {(3, 1), (3, 5)}
    assert_close(layer.weight, g * v / v.norm(dim=1, keepdim=True))


def test_gates_keep_the_size_of_small_inputs() -> None:
    """Gehring et al. 2017, sec. 3.5: the reason for N(0, 4 / n) before a gate."""
    x = 0.1 * torch.randn(31, 17, 101)
    layer = GatedConvolution(101, 3, dropout=0.0, normalised=False)
    assert float(layer(x)[:, 1:-1].detach().std()) == pytest.approx(0.1, rel=0.1)


@pytest.mark.skipif(not native.level(), reason="no native kernels here")
@pytest.mark.parametrize("normalised", [False, True])
def test_training_in_int8_computes_the_product_in_int8(normalised: bool) -> None:
    layer, x = gated(3, normalised=normalised), torch.randn(B, N, D)
    exact = layer(x)
    with int8_training():
        rounded = layer(x)
    assert not torch.equal(rounded, exact)
    assert_close(rounded, exact, rtol=0, atol=0.1)
