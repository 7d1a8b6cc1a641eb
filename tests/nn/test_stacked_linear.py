"""Linear layers of one input as one product: the equations, and the behaviour that must not change."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.nn import MultiHeadAttention
from multihead.nn.feed_forward import FeedForward
from multihead.nn.kernels import stacked_linear as kernel
from multihead.nn.kernels.bf16_products import weight_gradient
from multihead.nn.kernels.short_attention import laid_out_like
from multihead.nn.kernels.stacked_linear import concatenate, products_for, stacked_linear
from multihead.nn.modules import Linear, all_linear
from multihead.system import native

B, N, D = 5, 31, 67


@pytest.fixture(params=[*native.LEVELS, ""])
def level(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def layers(*widths: int) -> list[Linear]:
    torch.manual_seed(3)
    return [Linear(D, width) for width in widths]


def by_equation(x: Tensor, of: list[Linear], with_relu: bool) -> list[Tensor]:
    """The equation in float64, of x and parameters rounded to bf16."""
    outs = [x.double() @ layer.weight.bfloat16().double().T + layer.bias.bfloat16().double() for layer in of]
    return [out.clamp_min(0) for out in outs] if with_relu else outs


@pytest.mark.parametrize("with_relu", [False, True])
@pytest.mark.parametrize("widths", [(13,), (64,), (13, 32, 61), (32, 32)])
def test_it_is_the_equation_and_its_gradients(level: str, widths: tuple[int, ...], with_relu: bool) -> None:
    of = layers(*widths)
    x = torch.randn(B, N, D).bfloat16().requires_grad_()
    pairs = [(layer.weight, layer.bias) for layer in of]
    with native.use(level), torch.autocast("cpu", torch.bfloat16):
        products = products_for(x, pairs)
        if products is None and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
            pytest.skip("oneDNN does not multiply bf16 on this processor")
        assert products is not None
        outs = stacked_linear(x, pairs, products, with_relu=with_relu)
        expected = by_equation(x, of, with_relu)
        cotangents = [torch.randn_like(out) for out in outs]
        inputs = [x, *(part for pair in pairs for part in pair)]
        found = torch.autograd.grad(outs, inputs, cotangents)
    for out, wanted in zip(outs, expected, strict=True):
        assert out.dtype == torch.bfloat16
        assert out.shape == (B, N, wanted.shape[-1])
        assert_close(out.double(), wanted, rtol=2**-7, atol=1e-2)
    # With the same active units: a sum near 0 may round to the other sign.
    masked = [
        c.double() * (out > 0) if with_relu else c.double() for c, out in zip(cotangents, outs, strict=True)
    ]
    plain = [x.double() @ layer.weight.bfloat16().double().T + layer.bias.double() for layer in of]
    exact = torch.autograd.grad(plain, inputs, masked)
    for gradient, wanted, given_to in zip(found, exact, inputs, strict=True):
        assert gradient.dtype == given_to.dtype
        scale = wanted.double().abs().max()
        assert (gradient.double() - wanted.double()).abs().max() < 2**-6 * scale


matrix_registers = pytest.mark.skipif("amx" not in native.LEVELS, reason="a processor with AMX")


def spread(rows: int, columns: int, room: int) -> torch.Tensor:
    """A matrix with strided rows; NaN lies between them."""
    whole = torch.full((rows, columns + room), torch.nan, dtype=torch.bfloat16)
    whole[:, :columns] = torch.randn(rows, columns)
    return whole[:, :columns]


@matrix_registers
@given(
    N=st.integers(1, 601),
    e=st.integers(1, 21),
    d=st.integers(1, 21),
    room=st.sampled_from([0, 1, 32]),  # what lies between rows
    seed=st.integers(0, 999),
)
def test_weight_and_bias_gradients_are_the_equation(N: int, e: int, d: int, room: int, seed: int) -> None:
    torch.manual_seed(seed)
    g, x = spread(N, 32 * e, room), spread(N, 32 * d, room)
    with native.use("amx"):
        of_weight, of_bias = weight_gradient(g, x)
        before = torch.get_num_threads()
        torch.set_num_threads(3)
        try:
            assert all(map(torch.equal, weight_gradient(g, x), (of_weight, of_bias)))
        finally:
            torch.set_num_threads(before)
    exact = g.double().T @ x.double()
    assert (of_weight - exact).abs().max() <= 1e-5 * N**0.5 * exact.abs().max()
    assert_close(of_bias.double(), g.double().sum(0), rtol=1e-5, atol=1e-4)


@matrix_registers
def test_weight_gradients_propagate_nan_and_infinity() -> None:
    g, x = torch.randn(37, 64).bfloat16(), torch.randn(37, 32).bfloat16()
    g[36, 5] = torch.nan
    with native.use("amx"):
        of_weight, of_bias = weight_gradient(g, x)
    assert torch.equal(of_weight.isnan().any(1), torch.arange(64) == 5)
    assert torch.equal(of_bias.isnan(), torch.arange(64) == 5)


def test_nan_propagates(level: str) -> None:
    x = torch.randn(3, D)
    x[1, 2] = torch.nan
    of = layers(13)
    with native.use(level), torch.autocast("cpu", torch.bfloat16):
        (out,) = all_linear(x, *of, with_relu=True)
    assert out[1].isnan().all()
    assert not out[0].isnan().any()


def test_adjacent_parts_are_not_copied() -> None:
    whole = torch.randn(3, 5, 11)
    assert concatenate(whole.split_with_sizes([2, 4, 5], -1)).data_ptr() == whole.data_ptr()
    assert torch.equal(concatenate(whole.split_with_sizes([2, 4, 5], -1)), whole)
    apart = whole[..., 6:], whole[..., :6]
    assert torch.equal(concatenate(apart), torch.cat(apart, -1))
    gap = whole[..., :2], whole[..., 3:]
    assert torch.equal(concatenate(gap), torch.cat(gap, -1))


def test_gradients_are_laid_out_like_their_inputs() -> None:
    q, k, v = (part.view(2, 5, 3, 4).transpose(1, 2) for part in torch.randn(2, 5, 36).chunk(3, -1))
    apart, broadcast = torch.randn_like(q), torch.randn(2, 1, 1, 4).expand(2, 3, 5, 4)
    for tensors, memories in (
        ((q, k, v), 1),
        ((apart, q, k), 2),
        ((q, v, k), 3),
        ((q, q, q), 3),
        ((broadcast, broadcast, broadcast), 3),
    ):
        like = laid_out_like(*tensors)
        assert len({x.untyped_storage().data_ptr() for x in like}) == memories
        for number, x in enumerate(like):
            x.fill_(number)
        assert all(x.shape == q.shape and (x == number).all() for number, x in enumerate(like))


def test_attention_by_one_product_is_attention_by_three(level: str) -> None:
    torch.manual_seed(5)
    attention, network = MultiHeadAttention(D - 3, 4), FeedForward(D - 3, 37)
    x = torch.randn(B, N, D - 3)

    def gradients(level: str) -> list[Tensor]:
        for part in (attention, network):
            part.zero_grad()
        y = x.clone().requires_grad_()
        with native.use(level), torch.autocast("cpu", torch.bfloat16):
            network(attention(y, y)).float().square().sum().backward()
        parameters = [*attention.parameters(), *network.parameters()]
        return [y.grad, *(p.grad.clone() for p in parameters if p.grad is not None)]  # type: ignore[list-item]

    for found, expected in zip(gradients(level), gradients(""), strict=True):
        assert (found - expected).norm() < 0.05 * expected.norm() + 1e-3


def test_another_layer_or_a_hook_is_called() -> None:
    x = torch.randn(2, 3, D)
    first, second = layers(13, 32)
    seen = []
    second.register_forward_hook(lambda *_: seen.append(1))
    double = nn.Sequential(Linear(D, 7), nn.Tanh())
    with torch.autocast("cpu", torch.bfloat16):
        outs = all_linear(x, first, second, double)
    assert seen == [1]
    assert [out.shape[-1] for out in outs] == [13, 32, 7]
    assert_close(outs[2], double(x), rtol=1e-2, atol=1e-2, check_dtype=False)


def test_parameters_that_are_not_trained_get_no_gradient() -> None:
    (layer,) = layers(13)
    layer.requires_grad_(False)
    x = torch.randn(2, 3, D, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        layer(x).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == torch.float32
    assert layer.weight.grad is None


def test_unsupported_inputs_are_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    (layer,) = layers(13)
    pair = [(layer.weight, layer.bias)]
    x = torch.randn(2, 3, D)
    assert products_for(x, pair) is None, "float32"
    with torch.autocast("cpu", torch.bfloat16):
        assert products_for(x.double(), pair) is None, "float64"
        assert products_for(x[:0], pair) is None, "nothing"
        with torch.no_grad():
            assert products_for(x, pair) is None, "no gradients"
        monkeypatch.setattr(kernel, "_multiplies_bf16", lambda: False)
        assert products_for(x, pair) is None, "a processor without bf16"
        assert all_linear(x, layer, with_relu=True)[0].min() == 0
