"""The sampled gradient of cross-entropy is unbiased, and its products are exact.

With an output matrix (1, R), the gradient of hidden begins with the sampled gradient itself.
"""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from multihead.nn.kernels import linear_cross_entropy as kernel
from multihead.nn.kernels import sampled_gradient
from multihead.nn.kernels.linear_cross_entropy import linear_cross_entropy
from multihead.nn.kernels.sampled_gradient import sampling

pytestmark = pytest.mark.usefixtures("native_level")

N, V, REST = 11, 61, 13
FORMATS = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])


@pytest.fixture(autouse=True)
def every_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_gradient, "MIN_REDUCTION", 0)


def hidden_weight_targets(
    dtype: torch.dtype = torch.float32, n: int = N, v: int = V, rest: int = REST, spread: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    weight = torch.cat([torch.eye(v), torch.randn(v, rest)], 1).to(dtype).requires_grad_()
    hidden = (spread * torch.randn(n, v + rest) / rest**0.5).to(dtype).requires_grad_()
    return hidden, weight, torch.randint(v, (n,))


def gradients(inputs: tuple[Tensor, Tensor, Tensor], grain: float, seed: int = 0) -> list[Tensor]:
    """Gradients of hidden and weight; hidden's first columns are the sampled gradient of the logits."""
    torch.manual_seed(seed)
    with sampling(grain):
        loss = linear_cross_entropy(*inputs, 0.1)[0]
    return list(torch.autograd.grad(loss, inputs[:2]))


def at_the_logits(inputs: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    hidden, weight, targets = (x.detach() for x in inputs)
    logits = (hidden.double() @ weight.double().T).to(hidden.dtype).double().requires_grad_()
    loss = F.cross_entropy(logits, targets, label_smoothing=0.1, reduction="sum")
    return torch.autograd.grad(loss, logits)[0]


@FORMATS
@given(
    n=st.integers(1, 23),
    v=st.sampled_from([31, 64, 67, 257]),
    rest=st.integers(1, 300),
    log_grain=st.integers(-6, -1),
    seed=st.integers(0, 99),
)
def test_the_remaining_entries_are_multiplied(
    dtype: torch.dtype, n: int, v: int, rest: int, log_grain: int, seed: int
) -> None:
    torch.manual_seed(seed)
    inputs = hidden_weight_targets(dtype, n, v, rest)
    of_hidden, of_weight = gradients(inputs, 2.0**log_grain, seed)
    left, digits = of_hidden[:, :v].double(), 1e-5 if dtype == torch.float32 else 1e-2
    products = (
        (of_hidden, left @ inputs[1].detach().double()),
        (of_weight, left.T @ inputs[0].detach().double()),
    )
    for found, expected in products:
        assert_close(found.double(), expected, rtol=0, atol=digits * float(expected.abs().max() + 1e-9))


def test_an_entry_is_itself_or_a_grain_or_zero() -> None:
    inputs, grain = hidden_weight_targets(spread=3.0), 2**-6
    exact, left = at_the_logits(inputs).float(), gradients(inputs, grain)[0][:, :V]
    large = exact.abs() >= grain
    assert large.any()
    assert_close(left[large], exact[large], rtol=1e-4, atol=1e-7)
    small, sign = left[~large], exact[~large].sign()
    assert set((small * sign).tolist()) == {0.0, grain}


@FORMATS
def test_the_sampled_gradient_is_unbiased(dtype: torch.dtype) -> None:
    inputs, grain, draws = hidden_weight_targets(dtype, n=5, v=67), 2**-4, 600
    exact = at_the_logits(inputs)
    found = torch.stack([gradients(inputs, grain, seed)[0][:, :67] for seed in range(draws)]).double().mean(0)
    chance = (exact.abs() / grain).clamp(max=1)
    error = grain * (chance * (1 - chance) / draws).sqrt()
    # 335 entries: one in ten million exceeds five standard errors. bf16 rounds the remaining entries.
    digits = 1e-2 if dtype == torch.bfloat16 else 1e-5
    assert ((found - exact).abs() <= 5.5 * error + digits * exact.abs() + 1e-7).all()


def test_loss_and_metrics_are_exact() -> None:
    inputs = hidden_weight_targets()
    whole = linear_cross_entropy(*inputs, 0.1)
    with sampling(2**-4):
        assert_close(linear_cross_entropy(*inputs, 0.1), whole)


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_the_sample_does_not_depend_on_threads(threads: int) -> None:
    inputs = hidden_weight_targets()
    expected, before = gradients(inputs, 2**-4), torch.get_num_threads()
    torch.set_num_threads(threads)
    found = gradients(inputs, 2**-4)
    torch.set_num_threads(before)
    assert_close(found, expected)


def test_the_sample_depends_on_the_seed_alone() -> None:
    inputs = hidden_weight_targets()
    first, again, other = (gradients(inputs, 2**-4, seed)[0] for seed in (3, 3, 4))
    assert first.equal(again)
    assert not first.equal(other)


@pytest.mark.parametrize("block", [1, 100, 10_000])
def test_blocks_are_summed(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "BLOCK_ELEMENTS", block)
    inputs = hidden_weight_targets()
    of_hidden, of_weight = gradients(inputs, 2**-4)
    assert_close(of_weight, of_hidden[:, :V].T @ inputs[0].detach())


@FORMATS
def test_too_many_entries_get_a_coarser_grain(dtype: torch.dtype) -> None:
    inputs = hidden_weight_targets(dtype, v=257)
    left = gradients(inputs, 1e-9)[0][:, :257]
    # An entry takes eight bytes in the memory of a row of logits.
    assert 0 < int((left != 0).sum()) <= left.numel() * inputs[0].element_size() // 8
    assert_close(left.double().sum(1), torch.zeros(N).double(), rtol=0, atol=0.5)


@pytest.mark.parametrize("v", [1, 2, 3])
def test_a_tiny_vocabulary_works(v: int) -> None:
    assert all(x.isfinite().all() for x in gradients(hidden_weight_targets(torch.bfloat16, v=v), 2**-4))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_and_infinity_remain_in_the_sample(bad: float) -> None:
    hidden, weight, targets = hidden_weight_targets()
    with torch.no_grad():
        hidden[3, 5] = bad
    of_hidden, of_weight = gradients((hidden, weight, targets), 2**-4)
    assert not of_hidden[3].isfinite().all()
    assert not of_weight.isfinite().all()
    assert of_hidden[[0, 1, 2, 4]].isfinite().all()
