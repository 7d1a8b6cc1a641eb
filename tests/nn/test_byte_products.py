"""int8 products in training: exact, or unbiased where rounding is stochastic, and off by default."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.nn.kernels import byte_products
from multihead.nn.kernels.byte_products import ByteProducts, int8_training, multiply, pack
from multihead.nn.kernels.linear_cross_entropy import linear_cross_entropy
from multihead.nn.kernels.stacked_linear import products_for
from multihead.nn.modules import Linear, all_linear
from multihead.system import native

N, D, E = 101, 67, 131
FORMATS = st.sampled_from([torch.float32, torch.bfloat16])
ROUNDED = {torch.float32: 1e-6, torch.bfloat16: 2**-8}
"""Relative tolerance of each output format, with respect to the largest number."""

levels = pytest.mark.skipif(not native.LEVELS, reason="the native part was not compiled")


def product(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, with_relu: bool = False
) -> tuple[Tensor, Tensor]:
    out = x.new_empty(len(x), len(weight))
    return out, multiply(x, pack(weight), bias, out, with_relu=with_relu)


def off(found: Tensor, wanted: Tensor) -> float:
    return float((found.double() - wanted).abs().max() / wanted.abs().max().clamp_min(1e-30))


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Rows that int8 with a scale represents exactly, and bf16 too."""
    whole = torch.randint(-127, 128, shape)
    whole[:, :1] = 127
    return (whole * 2.0 ** torch.randint(-9, -3, (shape[0], 1))).to(dtype)


@levels
@given(
    n=st.integers(1, 211),
    d=st.integers(1, 139),
    e=st.integers(1, 139),
    room=st.sampled_from([0, 3]),  # what lies between rows
    with_relu=st.booleans(),
    turned=st.booleans(),
    dtype=FORMATS,
    level=st.sampled_from(native.LEVELS or ("",)),
    seed=st.integers(0, 999),
)
def test_an_int8_product_is_exact(
    n: int,
    d: int,
    e: int,
    room: int,
    with_relu: bool,
    turned: bool,
    dtype: torch.dtype,
    level: str,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    x = torch.full((n, d + room), torch.nan, dtype=dtype)[:, :d].copy_(numbers(n, d))
    weight = numbers(e, d)
    given_weight = weight.T.contiguous().T if turned else weight
    bias = torch.randn(e)
    with native.use(level):
        out, _ = product(x, given_weight, bias, with_relu)
    wanted = x.double() @ weight.double().T + bias
    assert off(out, wanted.clamp_min(0) if with_relu else wanted) <= ROUNDED[dtype]


@levels
@given(
    x=st.lists(st.floats(-(2**99), 2**99, width=32), min_size=1, max_size=67),
    level=st.sampled_from(native.LEVELS or ("",)),
)
def test_quantisation_error_is_at_most_half_a_step_of_the_row(x: list[float], level: str) -> None:
    x_1d = torch.tensor([x])
    with native.use(level):
        out, _ = product(x_1d, torch.eye(len(x)))
    assert (out - x_1d).abs().max() <= (0.5001 / 127 * x_1d.abs().max()).clamp_min(1e-30)


def test_the_saved_x_is_its_int8_rows(native_level: str) -> None:
    x = numbers(N, D)
    _, rows = product(x, torch.randn(E, D))
    assert rows.shape == (N, 18)  # 67 bytes are 17 words; the scale
    assert rows.nbytes < x.nbytes / 3
    scales = rows.view(torch.float32)[:, -1]
    assert_close(scales, x.abs().amax(1) / 127)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weight_gradients_are_unbiased(native_level: str, dtype: torch.dtype) -> None:
    x, g, weight = numbers(N, D, dtype=dtype), numbers(N, E, dtype=dtype), torch.randn(E, D)
    _, rows = product(x, weight)
    exact = g.double().T @ x.double()
    draws = []
    for seed in range(200):
        torch.manual_seed(seed)
        products = ByteProducts(dtype)
        products.output(x[:1], weight, torch.zeros(E), False)  # draws the seed
        of_weight, of_bias = products.parameter_gradients(g, rows, D)
        draws.append(of_weight.double() - exact)
        assert_close(of_bias.double(), g.double().sum(0), rtol=1e-5, atol=1e-4)
    errors = torch.stack(draws)
    spread = errors.std(0)
    assert spread.mean() < 0.02 * exact.std()
    # The error of a mean of 200 is a 14th of the spread; averaged over all entries it nearly vanishes.
    assert errors.mean(0).abs().max() < 6 * spread.max() / 200**0.5
    assert abs(errors.mean(0).mean()) < 4 * spread.mean() / (200 * E * D) ** 0.5


@pytest.mark.parametrize("n", [1, 509, 1031])  # a chunk has 512 rows
@pytest.mark.parametrize(("d", "e"), [(13, 7), (521, 17), (17, 521)])  # and as many columns
def test_weight_gradients_do_not_depend_on_threads(native_level: str, n: int, d: int, e: int) -> None:
    x, g, weight = numbers(n, d), numbers(n, e), numbers(d, e).T
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            torch.manual_seed(1)
            products = ByteProducts(torch.float32)
            out, rows = products.output(x, weight, torch.zeros(e), False)
            found.append((out, products.input_gradient(g, weight), *products.parameter_gradients(g, rows, d)))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, other, found[0]))
    assert off(found[0][1], g.double() @ weight.double()) < 1e-5
    assert off(found[0][2], g.double().T @ x.double()) < 0.05


def test_rows_of_zeros_give_zeros(native_level: str) -> None:
    x, g = torch.zeros(5, D), torch.zeros(5, E)
    products = ByteProducts(torch.float32)
    out, rows = products.output(x, torch.zeros(E, D), torch.zeros(E), False)
    for found in (
        out,
        products.input_gradient(g, torch.zeros(E, D)),
        *products.parameter_gradients(g, rows, D),
    ):
        assert not found.any()


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_nan_and_infinity_propagate(native_level: str, broken: float) -> None:
    x, weight, g = torch.randn(5, D), torch.randn(E, D), torch.randn(5, E)
    x[3, 2] = broken
    products = ByteProducts(torch.float32)
    for with_relu in (False, True):
        out, rows = products.output(x, weight, torch.zeros(E), with_relu)
        assert torch.equal(out.isnan().any(1), torch.arange(5) == 3)
    assert products.parameter_gradients(g, rows, D)[0].isnan().all()
    _, rows = products.output(torch.randn(5, D), weight, torch.zeros(E), False)
    g[2, 7] = broken
    assert torch.equal(products.input_gradient(g, weight).isnan().any(1), torch.arange(5) == 2)
    of_weight, _ = products.parameter_gradients(g, rows, D)
    assert torch.equal(of_weight.isfinite().any(1), torch.arange(E) != 7)
    weight[11, 3] = broken
    out, _ = products.output(torch.randn(5, D), weight, torch.zeros(E), False)
    assert torch.equal(out.isnan().all(0), torch.arange(E) == 11)


def gradients(layers: list[Linear], x: Tensor, with_relu: bool) -> list[Tensor]:
    """Gradients of a sum of squares with respect to x and all parameters."""
    x = x.clone().requires_grad_()
    outs = all_linear(x, *layers, with_relu=with_relu)
    parameters = [part for layer in layers for part in (layer.weight, layer.bias)]
    return [*torch.autograd.grad(sum(out.float().square().sum() for out in outs), [x, *parameters])]  # type: ignore[arg-type]


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("with_relu", [False, True])
def test_int8_layers_have_nearly_the_same_gradients(
    native_level: str, precision: torch.dtype, with_relu: bool
) -> None:
    layers, x = [Linear(D, E), Linear(D, 13)], torch.randn(3, 29, D)
    wanted = gradients(layers, x, with_relu)
    with int8_training(), torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
        found = gradients(layers, x, with_relu)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        assert (one - other).norm() < 0.05 * other.norm()
        assert not torch.equal(one, other)


def test_an_int8_output_layer_has_nearly_the_same_loss_and_gradients(native_level: str) -> None:
    hidden, weight, targets = torch.randn(N, D) / 4, torch.randn(2003, D), torch.randint(0, 2003, (N,))
    found = []
    for wanted in (False, True):
        h, w = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        with int8_training(wanted):
            loss, _, _ = linear_cross_entropy(h, w, targets, 0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        found.append((loss.detach(), h.grad, w.grad))
    assert abs(found[1][0] - found[0][0]) < 1e-3 * found[0][0]
    for one, other in zip(found[1][1:], found[0][1:], strict=True):
        assert one is not None
        assert other is not None
        assert 0 < (one - other).norm() < 0.03 * other.norm()


def test_int8_products_need_the_context_and_recorded_gradients(native_level: str) -> None:
    layer = Linear(D, E)
    own, x = [(layer.weight, layer.bias)], torch.randn(2, 3, D)
    with int8_training():
        assert isinstance(products_for(x, own), ByteProducts)
        assert products_for(x.double(), own) is None, "float64"
        with torch.no_grad():
            assert products_for(x, own) is None
        with int8_training(False):
            assert products_for(x, own) is None
        with native.use(""):
            assert products_for(x, own) is None
        assert byte_products.suits(torch.float32)
        plain = nn.Linear(D, E)
        with torch.no_grad():
            plain.load_state_dict(layer.state_dict())
            assert torch.equal(layer(x), plain(x)), "what is only read is whole"
    assert products_for(x, own) is None


def test_a_weight_with_strides_gives_the_same_product(native_level: str) -> None:
    x, weight = torch.randn(5, D), torch.randn(E, 2 * D)[:, ::2]
    assert torch.equal(product(x, weight)[0], product(x, weight.contiguous())[0])
