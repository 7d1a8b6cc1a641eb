"""Mixtures of experts against the sum over all experts, and the balance loss against Hugging Face's."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close
from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

from multihead.nn.description import FeedForwardSpec, UndescribedError, describe
from multihead.nn.feed_forward import FeedForward
from multihead.nn.parts.gated_feed_forward import GatedFeedForward
from multihead.nn.parts.mixture_of_experts import MixtureOfExperts, balance_loss, balances, top

D = 7


def mixture(experts: int, chosen: int, expert: Callable[[], nn.Module] | None = None) -> MixtureOfExperts:
    made = MixtureOfExperts(D, experts, chosen=chosen, expert=expert or (lambda: GatedFeedForward(D, 11)))
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.5)
    return made


def dense(part: MixtureOfExperts, x: Tensor) -> Tensor:
    """The definition: every expert computes every token, and gates of 0 drop most of it."""
    scores = part.router(x)
    kth = scores.topk(part.chosen, dim=-1).values[..., -1:]
    gates = scores.masked_fill(scores < kth, -torch.inf).softmax(dim=-1)
    outputs = torch.stack([expert(x) for expert in part.experts], dim=-1)
    mixed: Tensor = (outputs * gates[..., None, :]).sum(dim=-1)
    return mixed


@given(
    seed=st.integers(0, 999),
    experts=st.sampled_from([1, 2, 5, 13]),
    chosen=st.integers(1, 3),
    shape=st.sampled_from([(1,), (17,), (3, 11), (2, 3, 5), (0,), (0, 7)]),
)
@settings(max_examples=40, deadline=None)
def test_it_is_the_sum_over_all_experts(seed: int, experts: int, chosen: int, shape: tuple[int, ...]) -> None:
    torch.manual_seed(seed)
    part, x = mixture(experts, min(chosen, experts)).double(), torch.randn(*shape, D, dtype=torch.float64)
    found, expected = part(x), dense(part, x)
    assert found.shape == x.shape
    assert_close(found, expected, atol=1e-5, rtol=1e-5)  # the router computes in float32


def test_gradients_are_those_of_the_sum() -> None:
    part, x = mixture(5, 2), torch.randn(23, D, requires_grad=True)
    wanted = [x, *part.parameters()]
    weight = torch.randn(23, D)
    found = torch.autograd.grad((part(x) * weight).sum(), wanted)
    expected = torch.autograd.grad((dense(part, x) * weight).sum(), wanted)
    for ours, theirs in zip(found, expected, strict=True):
        assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_an_expert_that_no_token_chooses_has_gradients_of_zero() -> None:
    part = mixture(3, 1)
    with torch.no_grad():
        part.router.weight.zero_()
        part.router.weight[2, 0] = 100.0
    x = torch.randn(13, D).abs()
    part(x).sum().backward()
    assert part.shares is not None
    assert part.shares.tolist() == [0, 0, 1]
    for number, expert in enumerate(part.experts):
        size = max(
            float(weight.grad.abs().max()) for weight in expert.parameters() if weight.grad is not None
        )
        assert (size > 0) == (number == 2)
        assert all(weight.grad is not None for weight in expert.parameters())


def test_equal_scores_go_to_the_first_experts() -> None:
    gates, chosen = top(torch.full((3, 5), 0.2), 2)
    assert chosen.tolist() == [[0, 1]] * 3
    assert gates.tolist() == [[0.5, 0.5]] * 3


@pytest.mark.parametrize(("experts", "k"), [(2, 1), (5, 2), (13, 3)])
def test_the_balance_loss_is_hugging_faces(experts: int, k: int) -> None:
    scores = torch.randn(101, experts)
    p = scores.softmax(dim=-1)
    found, shares = balance_loss(p, top(p, k)[1])
    # Theirs adds the choices of a token up, ours averages them.
    assert_close(found, load_balancing_loss_func((scores,), experts, k) / k)
    assert_close(shares.sum(), torch.tensor(1.0))


def test_the_balance_loss_is_one_for_equal_use_and_the_number_of_experts_for_one() -> None:
    even = torch.eye(4).repeat(3, 1)
    assert_close(balance_loss(even, even.argmax(1, keepdim=True))[0], torch.tensor(1.0))
    alone = torch.eye(4)[:1].repeat(12, 1)
    assert_close(balance_loss(alone, alone.argmax(1, keepdim=True))[0], torch.tensor(4.0))


def test_training_on_the_balance_loss_alone_evens_out_the_use() -> None:
    torch.manual_seed(1)
    part, x = mixture(5, 1), torch.randn(211, D) + 1
    optimizer = torch.optim.Adam(part.parameters(), lr=0.03)
    before = None
    for _ in range(200):
        part(x)
        assert part.balance is not None
        before = before or part.balance.item()
        optimizer.zero_grad()
        part.balance.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert before is not None
    assert before > 1.3
    assert balances(part).item() < 1.05


def test_bfloat16_chooses_as_float32_does() -> None:
    part, x = mixture(5, 2), torch.randn(101, D)
    part(x)
    shares, exact = part.shares, part(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = part(x)
    assert part.shares is not None and shares is not None  # noqa: PT018
    assert torch.equal(part.shares, shares)
    assert_close(rounded.float(), exact, atol=0.1, rtol=0.1)


def test_a_model_without_a_mixture_has_no_balance() -> None:
    with pytest.raises(ValueError, match="no mixture of experts"):
        balances(FeedForward(D, 11))
    with pytest.raises(ValueError, match="no forward pass"):
        balances(mixture(2, 1))


def test_engines_and_exports_are_told_that_they_cannot_take_it() -> None:
    with pytest.raises(UndescribedError, match="MixtureOfExperts does not describe itself"):
        describe(mixture(2, 1), FeedForwardSpec)
