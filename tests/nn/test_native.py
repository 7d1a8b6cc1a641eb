"""The native kernels, at every level that this processor can run, against the equations."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.nn import attention, masks, ops
from multihead.nn.kernels import short_attention
from multihead.nn.kernels.additive_score import additive_scores
from multihead.nn.kernels.byte_dropout import byte_dropout
from multihead.nn.kernels.linear_cross_entropy import linear_cross_entropy
from multihead.nn.losses import smoothed_cross_entropy
from multihead.nn.ops import gelu_tanh, layer_norm, relu, residual_norm, residual_sum
from multihead.system import native

pytestmark = pytest.mark.usefixtures("native_level")

B, H, Q, K, D_K, D_V = 2, 3, 71, 19, 13, 5
FORMATS = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])


def close(found: Tensor, exact: Tensor, dtype: torch.dtype) -> None:
    """Compare within the precision of a format, relative to the largest exact number."""
    digits = 2e-2 if dtype == torch.bfloat16 else 2e-5
    largest = float(exact.detach().abs().max())
    assert_close(found.double(), exact.double(), rtol=0, atol=digits * largest)


def assert_equation(
    kernel: Callable[..., Tensor], equation: Callable[..., Tensor], inputs: list[Tensor]
) -> None:
    """Values and gradients of the kernel are those of the equation in double precision."""
    exact = [x.detach().double().requires_grad_() for x in inputs]
    found, expected = kernel(*inputs), equation(*exact)
    dtype = inputs[0].dtype
    close(found, expected, dtype)
    cotangent = torch.randn_like(expected).to(found.dtype)
    gradients = torch.autograd.grad(found, inputs, cotangent)
    exact_gradients = torch.autograd.grad(expected, exact, cotangent.double())
    for x, gradient, wanted in zip(inputs, gradients, exact_gradients, strict=True):
        assert gradient.dtype == x.dtype
        close(gradient, wanted, dtype)


def random(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape).to(dtype).requires_grad_()


def heads(N: int, d: int, dtype: torch.dtype) -> Tensor:
    """(B, H, N, d) in a projection's layout: the heads of a position are adjacent."""
    return torch.randn(B, N, H, d).to(dtype).transpose(1, 2).requires_grad_()


MASKS = {
    "everything": None,
    "padding": masks.padding(torch.tensor([11, K]), K),
    "a few": torch.rand(B, H, Q, K, generator=torch.Generator().manual_seed(1)) < 0.4,
    "transposed": (torch.rand(K, Q, generator=torch.Generator().manual_seed(2)) < 0.4).T,
}


@FORMATS
@pytest.mark.parametrize("allowed", MASKS.values(), ids=MASKS)
def test_attention_is_the_equation(allowed: Tensor | None, dtype: torch.dtype) -> None:
    inputs = [heads(Q, D_K, dtype), heads(K, D_K, dtype), heads(K, D_V, dtype)]
    assert short_attention.suits(inputs[0], inputs[1], inputs[2], allowed)
    assert_equation(
        lambda q, k, v: ops.attention(q, k, v, allowed, 0.0),
        lambda q, k, v: attention(q, k, v, allowed),
        inputs,
    )


def test_causal_attention_is_the_equation() -> None:
    allowed = masks.causal(Q)
    assert_equation(
        lambda q, k, v: ops.attention(q, k, v, allowed, 0.0),
        lambda q, k, v: attention(q, k, v, allowed),
        [heads(Q, d, torch.float32) for d in (D_K, D_K, D_V)],
    )


@FORMATS
@pytest.mark.parametrize("p", [0.0, 0.3])
def test_a_row_without_any_allowed_key_is_0_and_has_no_gradient(dtype: torch.dtype, p: float) -> None:
    allowed = torch.ones(Q, K, dtype=torch.bool)
    allowed[5] = False
    q, k, v = heads(Q, D_K, dtype), heads(K, D_K, dtype), heads(K, D_V, dtype)
    out = ops.attention(q, k, v, allowed, p)
    assert not out[:, :, 5].any()
    only_that_row = torch.zeros_like(out)
    only_that_row[:, :, 5] = 1
    assert not any(gradient.any() for gradient in torch.autograd.grad(out, (q, k, v), only_that_row))


def test_dropout_of_attention_weights_is_the_equation_with_its_mask() -> None:
    q, k, v = heads(Q, D_K, torch.float32), heads(K, D_K, torch.float32), heads(K, D_V, torch.float32)
    # With unit vectors as values, the output is the weights, which reveal the mask.
    torch.manual_seed(7)
    shown = ops.attention(q, k, torch.eye(K).expand(B, H, K, K), None, 0.5).detach()
    plain = (q @ k.mT / math.sqrt(D_K)).softmax(-1).detach()
    kept = shown != 0
    assert_close(shown, 2 * plain * kept)
    assert abs(kept.float().mean() - 0.5) < 5 * 0.5 / math.sqrt(kept.numel())

    def seeded(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        torch.manual_seed(7)
        return ops.attention(q, k, v, None, 0.5)

    def equation(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (2 * kept * (q @ k.mT / math.sqrt(D_K)).softmax(-1)) @ v

    assert_equation(seeded, equation, [q, k, v])


def test_very_large_scores_stay_finite() -> None:
    q, k, v = (1e3 * heads(n, d, torch.float32).detach() for n, d in ((Q, D_K), (K, D_K), (K, D_V)))
    assert_close(ops.attention(q, k, v, None, 0.0), attention(q, k, v))


def test_nan_propagates() -> None:
    q, k, v = (heads(n, d, torch.float32).detach() for n, d in ((Q, D_K), (K, D_K), (K, D_V)))
    q[0, 1, 2, 3] = math.nan
    assert ops.attention(q, k, v, None, 0.0)[0, 1, 2].isnan().all()
    x = torch.randn(3, 67)
    x[1, 2] = math.nan
    assert relu(x)[1, 2].isnan()
    assert layer_norm(x, nn.LayerNorm(67))[1].isnan().all()
    assert linear_cross_entropy(x, torch.randn(5, 67), torch.tensor([0, 1, 2]), 0.1)[0].isnan()


# --- residual connections ------------------------------------------------------------------------------


def norm_of(d: int) -> nn.LayerNorm:
    norm = nn.LayerNorm(d)
    nn.init.normal_(norm.weight, mean=1.0)
    nn.init.normal_(norm.bias)
    return norm


@FORMATS
@pytest.mark.parametrize("d", [5, 64, 131])
def test_the_norm_is_the_equation(d: int, dtype: torch.dtype) -> None:
    norm = norm_of(d)
    assert_equation(
        lambda x, *_: layer_norm(x, norm),
        lambda x, gamma, beta: F.layer_norm(x, (d,), gamma, beta, norm.eps),
        [random(3, 7, d, dtype=dtype), norm.weight, norm.bias],
    )


@FORMATS
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("d", [5, 131])
def test_the_residual_connection_is_the_equation_with_its_mask(
    d: int, dropout: float, dtype: torch.dtype
) -> None:
    norm, eps = norm_of(d), 1e-5
    x, y = random(3, 7, d, dtype=dtype), random(3, 7, d, dtype=dtype)
    torch.manual_seed(7)
    mask = residual_sum(torch.zeros(3, 7, d), torch.ones(3, 7, d), dropout).double()
    assert sorted(set(mask.flatten().tolist())) == pytest.approx(
        [0.0, 256 / (256 - round(256 * 0.3))] if dropout else [1.0]
    )
    gamma, beta = norm.weight.detach().double(), norm.bias.detach().double()

    def seeded(kernel: Callable[..., Tensor], *arguments: object) -> Callable[..., Tensor]:
        def run(x: Tensor, y: Tensor) -> Tensor:
            torch.manual_seed(7)
            return kernel(x, y, *arguments, dropout)

        return run

    assert_equation(
        seeded(residual_norm, norm),
        lambda x, y: F.layer_norm(x + mask * y, (d,), gamma, beta, eps),
        [x, y],
    )
    assert_equation(seeded(residual_sum), lambda x, y: x + mask * y, [x, y])


def test_dropouts_kept_fraction_is_binomial_and_neighbours_are_independent() -> None:
    kept = (byte_dropout(torch.ones(20_011, 64), 0.5) != 0).float()
    chance = 5 * 0.5 / math.sqrt(kept.numel())
    assert abs(kept.mean() - 0.5) < chance
    columns = torch.corrcoef(kept.T) - torch.eye(64)
    assert columns.abs().max() < 6 / math.sqrt(len(kept))
    rows = ((kept[1:] == kept[:-1]).float().mean() - 0.5).abs()
    assert rows < chance


def test_dropout_does_not_depend_on_threads_or_level(native_level: str) -> None:
    def mask(threads: int) -> Tensor:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        torch.manual_seed(3)
        found = byte_dropout(torch.ones(37, 131), 0.3)
        torch.set_num_threads(before)
        return found

    with native.use("baseline"):
        expected = mask(1)
    assert torch.equal(mask(1), expected)
    assert torch.equal(mask(2), expected)


# --- others --------------------------------------------------------------------------------------------


@FORMATS
def test_relu_is_the_equation(dtype: torch.dtype) -> None:
    assert_equation(relu, lambda x: x.clamp_min(0), [random(3, 5, 67, dtype=dtype)])


@FORMATS
def test_gelu_by_tanh_is_the_equation(dtype: torch.dtype) -> None:
    inputs = [(3 * torch.randn(3, 5, 67)).to(dtype).requires_grad_()]
    assert_equation(gelu_tanh, lambda x: F.gelu(x, approximate="tanh"), inputs)


def test_gelu_by_tanh_stays_in_range_and_propagates_nan() -> None:
    x = torch.tensor([0.0, 50.0, -50.0, 1e18, math.inf, math.nan])
    assert_close(gelu_tanh(x), torch.tensor([0, 50, 0, 1e18, math.inf, math.nan]), equal_nan=True)


@FORMATS
@pytest.mark.parametrize("d", [3, 16, 67])
def test_the_additive_score_is_the_equation(d: int, dtype: torch.dtype) -> None:
    inputs = [random(B, H, 5, d, dtype=dtype), random(B, H, K, d, dtype=dtype), random(d, dtype=dtype)]
    assert_equation(additive_scores, lambda q, k, v: (q[:, :, :, None] + k[:, :, None]).tanh() @ v, inputs)


def test_the_additive_score_stays_in_range_and_propagates_nan() -> None:
    q, k, v = torch.tensor([[[0.0], [300.0], [-300.0], [math.nan]]]), torch.zeros(1, 1, 1), torch.ones(1)
    assert_close(additive_scores(q, k, v).flatten(), torch.tensor([0, 1, -1, math.nan]), equal_nan=True)


def test_broadcast_keys_are_left_to_pytorch() -> None:
    q, k, v = random(B, H, 5, 7), random(1, 1, K, 7), random(7)
    assert additive_scores(q, k, v).shape == (B, H, 5, K)


@FORMATS
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_is_the_equation(smoothing: float, dtype: torch.dtype) -> None:
    targets = torch.randint(101, (37,))
    inputs = [random(37, 7, dtype=dtype), random(101, 7, dtype=dtype)]
    assert_equation(
        lambda h, w: linear_cross_entropy(h, w, targets, smoothing)[0],
        lambda h, w: smoothed_cross_entropy_of(h @ w.T, targets, smoothing),
        inputs,
    )


def smoothed_cross_entropy_of(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")


def test_the_metrics_of_cross_entropy_are_those_of_the_plain_loss() -> None:
    hidden, weight, targets = random(37, 7), random(101, 7), torch.randint(101, (37,))
    found = linear_cross_entropy(hidden, weight, targets, 0.1)
    expected = smoothed_cross_entropy(hidden @ weight.T, targets, 0.1)
    assert [term.item() for term in found] == pytest.approx([term.item() for term in expected], rel=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_results_do_not_depend_on_threads(threads: int) -> None:
    def everything() -> list[Tensor]:
        torch.manual_seed(5)
        norm, x = norm_of(131), random(3, 7, 131)
        q = heads(Q, D_K, torch.float32)
        out = residual_norm(x, relu(x), norm, 0.1).sum() + ops.attention(q, q, q, None, 0.1).sum()
        out = out + linear_cross_entropy(x[0], random(11, 131), torch.arange(7), 0.1)[0]
        return [out, *torch.autograd.grad(out, (x, q, norm.weight))]

    expected, before = everything(), torch.get_num_threads()
    torch.set_num_threads(threads)
    found = everything()
    torch.set_num_threads(before)
    assert_close(found, expected)
