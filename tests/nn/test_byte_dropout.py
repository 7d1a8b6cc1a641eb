"""Dropout from random bytes: its equation, its probability, its seed."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.testing import assert_close

from multihead.nn.kernels.byte_dropout import byte_dropout
from multihead.nn.modules import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_the_kept_fraction_is_binomial(p: float) -> None:
    n = 1_000_003
    chance = round(256 * p) / 256
    kept = int((byte_dropout(torch.ones(n), p) != 0).sum())
    assert abs(kept - n * (1 - chance)) < 5 * math.sqrt(n * chance * (1 - chance))


@pytest.mark.parametrize("p", [0.1, 0.3, 0.9])
def test_kept_elements_are_rescaled_to_keep_the_mean(p: float) -> None:
    chance = round(256 * p) / 256
    out = byte_dropout(torch.ones(1_000_003), p)
    assert_close(torch.tensor(sorted(set(out.tolist()))), torch.tensor([0.0, 1 / (1 - chance)]))
    assert_close(out.mean(), torch.tensor(1.0), atol=5 * math.sqrt(chance / (1 - chance) / 1e6), rtol=0)


def test_neighbours_and_every_byte_of_a_random_word_are_independent() -> None:
    kept = (byte_dropout(torch.ones(800_000), 0.5) != 0).float().view(-1, 8)
    correlation = torch.corrcoef(kept.T) - torch.eye(8)
    assert correlation.abs().max() < 5 / math.sqrt(len(kept))
    assert (kept.mean(0) - 0.5).abs().max() < 5 * 0.5 / math.sqrt(len(kept))


def test_backward_uses_the_mask_of_forward() -> None:
    x = torch.randn(3, 5, 7, requires_grad=True)
    out = byte_dropout(x, 0.5)
    cotangent = torch.randn(3, 5, 7)
    (gradient,) = torch.autograd.grad(out, x, cotangent)
    assert (out == 0).any()
    assert_close(gradient, cotangent * out.detach() / x.detach())


def test_the_gradient_check_passes_with_the_mask_held() -> None:
    def held(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(7)
        return byte_dropout(x, 0.3)

    assert gradcheck(held, torch.randn(3, 11, dtype=torch.float64, requires_grad=True))


def test_torchs_generator_seeds_it() -> None:
    x = torch.ones(101)

    def dropped(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return byte_dropout(x, 0.5)

    assert torch.equal(dropped(1), dropped(1))
    assert not torch.equal(dropped(1), dropped(2))
    torch.manual_seed(1)
    assert not torch.equal(byte_dropout(x, 0.5), byte_dropout(x, 0.5))


@given(st.lists(st.integers(0, 5), max_size=4), st.sampled_from([torch.float32, torch.bfloat16]))
def test_shape_and_format_are_kept(shape: list[int], dtype: torch.dtype) -> None:
    x = torch.ones(shape, dtype=dtype)
    out = byte_dropout(x, 0.5)
    assert (out.shape, out.dtype) == (x.shape, dtype)
    assert ((out == 0) | (out == 2)).all()


def test_a_transposed_tensor_is_dropped_element_by_element() -> None:
    x = torch.arange(1.0, 36.0).view(5, 7).T
    out = byte_dropout(x, 0.5)
    assert_close(out[out != 0], 2 * x[out != 0])


def test_the_module_drops_in_training_only() -> None:
    dropout, x = Dropout(0.5), torch.ones(101)
    assert (dropout(x) == 0).any()
    assert dropout.eval()(x) is x
    assert Dropout(0.0)(x) is x
