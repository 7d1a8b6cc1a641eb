"""Fused output layer and cross-entropy against PyTorch's separate ones."""

from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch.testing import assert_close

from multihead.nn.kernels import linear_cross_entropy as kernel
from multihead.nn.kernels.linear_cross_entropy import linear_cross_entropy, r_drop_cross_entropy
from multihead.nn.losses import smoothed_cross_entropy
from multihead.system import native

N, D, V = 17, 5, 13


def hidden_weight_targets(
    n: int = N, v: int = V, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    hidden = torch.randn(n, D, dtype=dtype, requires_grad=True)
    weight = torch.randn(v, D, dtype=dtype, requires_grad=True)
    return hidden, weight, torch.randint(v, (n,))


def by_the_book(hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float) -> list[Tensor]:
    logits = F.linear(hidden, weight)
    return [
        F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum"),
        F.cross_entropy(logits, targets, reduction="sum"),
        (logits.argmax(1) == targets).sum().to(logits.dtype),
    ]


def assert_by_the_book(hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float) -> None:
    found, expected = (f(hidden, weight, targets, smoothing) for f in (linear_cross_entropy, by_the_book))
    assert_close(list(found), expected)
    assert_close(
        torch.autograd.grad(3 * found[0], (hidden, weight)),
        torch.autograd.grad(3 * expected[0], (hidden, weight)),
    )


@given(
    n=st.integers(1, 43),
    v=st.integers(1, 11),
    smoothing=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    block=st.integers(1, 100),
    even=st.sampled_from([2, 64]),
    seed=st.integers(0, 99),
)
def test_values_and_gradients_are_pytorchs_for_any_block_size(
    n: int, v: int, smoothing: float, block: int, even: int, seed: int
) -> None:
    torch.manual_seed(seed)
    with mock.patch.multiple(kernel, BLOCK_ELEMENTS=block, FLOAT32_ELEMENTS=block // 3, ROW_MULTIPLE=even):
        assert_by_the_book(*hidden_weight_targets(n, v), smoothing)


def test_the_gradient_check_passes() -> None:
    hidden, weight, targets = hidden_weight_targets()
    assert gradcheck(lambda h, w: linear_cross_entropy(h, w, targets, 0.1)[0], (hidden, weight))


def test_the_plain_loss_is_pytorchs_too() -> None:
    hidden, weight, targets = hidden_weight_targets(dtype=torch.float32)
    found = smoothed_cross_entropy(F.linear(hidden, weight), targets, 0.1)
    smoothed, nll, correct = by_the_book(hidden, weight, targets, 0.1)
    assert_close(list(found), [smoothed, nll.detach(), correct.long()])
    assert [term.requires_grad for term in found] == [True, False, False]


def test_no_rows_give_zero() -> None:
    hidden, weight, targets = hidden_weight_targets(0)
    sums = linear_cross_entropy(hidden, weight, targets, 0.1)
    assert [term.item() for term in sums] == [0, 0, 0]
    gradients = torch.autograd.grad(sums[0], (hidden, weight))
    assert not any(gradient.any() for gradient in gradients)


def test_a_single_class_has_zero_loss() -> None:
    hidden, weight, targets = hidden_weight_targets(v=1)
    smoothed, nll, correct = linear_cross_entropy(hidden, weight, targets, 0.1)
    assert (smoothed.item(), nll.item(), correct.item()) == (0, 0, N)


def test_large_logits_stay_finite_and_exact() -> None:
    hidden, weight, targets = hidden_weight_targets(dtype=torch.float32)
    hidden = (1e4 * hidden).detach().requires_grad_()
    logits = F.linear(hidden, weight)
    assert logits.min() < -1e4
    assert logits.max() > 1e4
    smoothed, nll, correct = linear_cross_entropy(hidden, weight, targets, 0.1)
    exact_hidden, exact_weight = (x.detach().double().requires_grad_() for x in (hidden, weight))
    exact = by_the_book(exact_hidden, exact_weight, targets, 0.1)
    assert_close([smoothed.double(), nll.double(), correct.double()], exact, rtol=1e-6, atol=0)
    found = torch.autograd.grad(smoothed, (hidden, weight))
    expected = torch.autograd.grad(exact[0], (exact_hidden, exact_weight))
    for gradient, wanted in zip(found, expected, strict=True):
        assert (gradient - wanted).norm() < 1e-5 * wanted.norm()


def test_a_tied_matrix_gets_both_gradients() -> None:
    weight, targets = torch.randn(V, D, dtype=torch.float64, requires_grad=True), torch.randint(V, (N,))
    read = torch.randint(V, (N,))

    def gradient(smoothed: Tensor) -> Tensor:
        return torch.autograd.grad(smoothed, weight)[0]

    found = gradient(linear_cross_entropy(weight[read].tanh(), weight, targets, 0.1)[0])
    assert_close(found, gradient(by_the_book(weight[read].tanh(), weight, targets, 0.1)[0]))


def test_metrics_carry_no_gradient() -> None:
    smoothed, nll, correct = linear_cross_entropy(*hidden_weight_targets(), 0.1)
    assert (smoothed.requires_grad, nll.requires_grad, correct.requires_grad) == (True, False, False)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_no_gradient_is_computed_without_recording(mode: type[torch.no_grad]) -> None:
    hidden, weight, targets = hidden_weight_targets()
    expected = linear_cross_entropy(hidden, weight, targets, 0.1)
    with mode(), mock.patch.object(Tensor, "scatter_add_", side_effect=AssertionError("a gradient")):
        found = linear_cross_entropy(hidden, weight, targets, 0.1)
    assert_close(list(found), [term.detach() for term in expected])


@pytest.mark.parametrize("frozen", ["hidden", "weight"])
def test_hidden_or_weight_may_be_frozen(frozen: str) -> None:
    hidden, weight, targets = hidden_weight_targets()
    learned = {"hidden": weight, "weight": hidden}[frozen]
    {"hidden": hidden, "weight": weight}[frozen].requires_grad_(False)
    found, expected = (f(hidden, weight, targets, 0.1)[0] for f in (linear_cross_entropy, by_the_book))
    assert_close(torch.autograd.grad(found, learned), torch.autograd.grad(expected, learned))


def test_under_autocast_it_multiplies_in_bf16_and_sums_in_fp32() -> None:
    hidden, weight, targets = hidden_weight_targets(101, 31, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        smoothed, nll, _ = linear_cross_entropy(hidden, weight, targets, 0.1)
    exact = by_the_book(hidden, weight, targets, 0.1)
    assert smoothed.dtype == nll.dtype == torch.float32
    # 8 bits per factor: the error of a sum over 101 rows is a few thousandths, a gradient's a hundredth.
    assert_close([smoothed, nll], exact[:2], rtol=0.005, atol=0)
    found = torch.autograd.grad(smoothed, (hidden, weight))
    assert [gradient.dtype for gradient in found] == [torch.float32, torch.float32]
    for gradient, wanted in zip(found, torch.autograd.grad(exact[0], (hidden, weight)), strict=True):
        assert (gradient - wanted).norm() < 0.01 * wanted.norm()


def test_a_gradient_of_the_gradient_is_refused() -> None:
    hidden, weight, targets = hidden_weight_targets()
    factor = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    loss = factor * linear_cross_entropy(hidden, weight, targets, 0.1)[0]
    (gradient,) = torch.autograd.grad(loss, hidden, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()  # type: ignore[no-untyped-call]


@given(left=st.lists(st.booleans(), min_size=1, max_size=43), agreeing=st.booleans())
def test_ignored_rows_do_not_count(left: list[bool], agreeing: bool) -> None:
    n, kept = len(left), torch.tensor(left)
    hidden = torch.randn(n, 2, D, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(V, D, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(V, (n,))

    def told(hidden: Tensor, targets: Tensor) -> tuple[Tensor, ...]:
        if agreeing:
            return r_drop_cross_entropy(hidden, weight, targets, 0.1, 5.0)
        return linear_cross_entropy(hidden[:, 0], weight, targets, 0.1)

    found, expected = told(hidden, targets.where(kept, kernel.IGNORED)), told(hidden[kept], targets[kept])
    assert_close(found, expected)
    both = (torch.autograd.grad(3 * one[0], (hidden, weight)) for one in (found, expected))
    assert_close(*both)


@pytest.mark.parametrize("level", ["", *native.LEVELS[:1]])
@pytest.mark.parametrize("wrong", [V, V + 100, -2])
def test_a_target_out_of_range_is_refused(level: str, wrong: int) -> None:
    hidden, weight, targets = hidden_weight_targets(dtype=torch.float32)
    targets[3] = wrong
    with native.use(level), pytest.raises(IndexError, match=f"outside 0 to {V - 1}"):
        linear_cross_entropy(hidden, weight, targets, 0.1)
