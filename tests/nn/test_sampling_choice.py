"""The choice between the sampled and the exact gradient of the logits."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from multihead.nn.kernels.linear_cross_entropy import linear_cross_entropy, r_drop_cross_entropy
from multihead.nn.kernels.sampled_gradient import sampling
from multihead.system import native

N, D, LARGE, SMALL = 5, 7, 2053, 2039
GRAIN = 2**-8

needs_native = pytest.mark.skipif(not native.LEVELS, reason="the native part was not compiled")


def zeros(words: int, grain: float | None) -> int:
    """Number of the weight's rows without gradient."""
    torch.manual_seed(1)
    hidden, weight = torch.randn(N, D), torch.randn(words, D, requires_grad=True)
    if grain is None:
        loss = linear_cross_entropy(hidden, weight, torch.arange(N), 0.1)[0]
    else:
        with sampling(grain):
            loss = linear_cross_entropy(hidden, weight, torch.arange(N), 0.1)[0]
    return int((torch.autograd.grad(loss, weight)[0] == 0).all(1).sum())


@needs_native
def test_the_gradient_is_sampled_on_request_for_a_large_vocabulary() -> None:
    assert zeros(LARGE, GRAIN) > LARGE // 2
    assert zeros(SMALL, GRAIN) == 0


@pytest.mark.parametrize("grain", [None, 0.0])
def test_otherwise_the_gradient_is_exact(grain: float | None) -> None:
    assert zeros(LARGE, grain) == 0


def test_plain_pytorch_never_samples() -> None:
    with native.use(""):
        assert zeros(LARGE, GRAIN) == 0


def test_r_drop_is_not_sampled() -> None:
    hidden, weight = torch.randn(N, 2, D), torch.randn(LARGE, D, requires_grad=True)
    with sampling(GRAIN):
        loss = r_drop_cross_entropy(hidden, weight, torch.arange(N), 0.1, 5.0)[0]
    assert not (torch.autograd.grad(loss, weight)[0] == 0).all(1).any()


def test_leaving_the_context_restores_the_grain_even_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), sampling(GRAIN):
        raise ZeroDivisionError
    assert zeros(LARGE, None) == 0


@needs_native
def test_the_grain_is_local_to_a_thread() -> None:
    with ThreadPoolExecutor(1) as other, sampling(GRAIN):
        assert other.submit(zeros, LARGE, None).result() == 0
        other.submit(zeros, LARGE, 0.0).result()
        assert zeros(LARGE, None) > LARGE // 2
