"""R-Drop's divergence and its gradient, against PyTorch's own."""

from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch.testing import assert_close

from multihead.batch import PairBatch
from multihead.data.batches import collate
from multihead.models.transformer import Settings, Transformer
from multihead.nn.kernels import linear_cross_entropy as kernel
from multihead.nn.kernels.disagreement import disagreement
from multihead.nn.kernels.linear_cross_entropy import linear_cross_entropy, r_drop_cross_entropy
from multihead.system import native

LEVELS = pytest.mark.parametrize("level", ["", *native.LEVELS])


def by_the_book(logits_NV: Tensor) -> Tensor:
    """(KL(p || q) + KL(q || p)) / 2 over pairs of rows, by PyTorch."""
    log_p, log_q = logits_NV[0::2].log_softmax(1), logits_NV[1::2].log_softmax(1)
    there, back = (
        F.kl_div(log_q, log_p, log_target=True, reduction="sum"),
        F.kl_div(log_p, log_q, log_target=True, reduction="sum"),
    )
    return (there + back) / 2


@LEVELS
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("V", [1, 16, 101])
def test_value_and_gradient_are_the_equation(V: int, dtype: torch.dtype, level: str) -> None:
    logits = (3 * torch.randn(22, V)).to(dtype)
    exact = logits.double().requires_grad_()
    expected = by_the_book(exact)
    (wanted,) = torch.autograd.grad(expected, exact)
    found = torch.empty_like(logits)
    with native.use(level):
        value = disagreement(logits, found)
        alone = disagreement(logits, None)
    digits = 1e-2 if dtype == torch.bfloat16 else 1e-5
    assert_close(value, expected.detach(), rtol=1e-4, atol=1e-5)
    assert value == alone
    assert_close(found.double(), wanted, rtol=digits, atol=digits)


@LEVELS
def test_large_scores_stay_finite_and_equal_ones_have_zero_divergence(level: str) -> None:
    row = 1e4 * torch.randn(1, 37)
    gradient = torch.full((2, 37), torch.nan)
    with native.use(level):
        assert disagreement(row.repeat(2, 1), gradient) == 0
        assert not gradient.any()
        assert disagreement(torch.cat([row, -row]), gradient).isfinite()
        assert gradient.isfinite().all()
        assert disagreement(torch.full((2, 37), torch.nan), None).isnan()


@given(n=st.integers(0, 23), alpha=st.sampled_from([0.5, 5.0]), block=st.integers(1, 60))
def test_the_loss_of_two_passes_is_that_of_each_and_their_divergence(
    n: int, alpha: float, block: int
) -> None:
    hidden = torch.randn(n, 2, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(13, 5, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(13, (n,))
    with mock.patch.multiple(kernel, BLOCK_ELEMENTS=block, FLOAT32_ELEMENTS=block // 3, ROW_MULTIPLE=2):
        loss, nll, correct, apart = r_drop_cross_entropy(hidden, weight, targets, 0.1, alpha)
    each = [linear_cross_entropy(hidden[:, k], weight, targets, 0.1) for k in (0, 1)]
    divergence = by_the_book(F.linear(hidden.flatten(0, 1), weight))
    assert_close(loss, each[0][0] + each[1][0] + alpha * divergence)
    assert_close(
        [nll, correct, apart], [each[0][1] + each[1][1], each[0][2] + each[1][2], divergence.detach()]
    )


def test_the_gradient_check_passes() -> None:
    hidden = torch.randn(7, 2, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(13, 5, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(13, (7,))
    assert gradcheck(lambda h, w: r_drop_cross_entropy(h, w, targets, 0.1, 5.0)[0], (hidden, weight))


def batch() -> PairBatch:
    return collate([[5, 6, 7], [8]], [[9, 10], [11, 12, 13, 14]], pad_id=0, bos_id=2, eos_id=3)


def model(**changed: float) -> Transformer:
    torch.manual_seed(1)
    sizes = {
        "source_vocab": 17,
        "target_vocab": 17,
        "d_model": 8,
        "d_ff": 11,
        "num_layers": 1,
        "num_heads": 2,
    }
    return Transformer(Settings.model_validate({**sizes, "output_bias": True, **changed}))


def test_without_dropout_two_passes_are_one() -> None:
    plain, twice = model(dropout=0.0).loss(batch(), 1), model(dropout=0.0, r_drop=5.0).loss(batch(), 1)
    assert twice["disagreement"].sum == pytest.approx(0, abs=1e-9)
    for name, term in plain.items():
        assert_close(twice[name].sum, term.sum)


def test_with_dropout_the_passes_differ_in_training_alone() -> None:
    twice = model(dropout=0.3, r_drop=5.0)
    assert twice.loss(batch(), 1)["disagreement"].sum > 0.01
    assert set(twice.eval().loss(batch(), 1)) == {"loss", "nll", "accuracy"}
