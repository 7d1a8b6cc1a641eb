"""Reversible layers against the same layers run plainly."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.nn import FeedForward, MultiHeadAttention, PostNorm, masks
from multihead.nn.parts.bands import CausalAttention
from multihead.nn.parts.reformer import ReformerAttention
from multihead.nn.parts.reversible import ChunkedFeedForward, ReversibleLayer, ReversibleStack

B, N, D = 2, 13, 15


def stack(layers: int = 3, dropout: float = 0.0, attention: str = "dense") -> ReversibleStack:
    torch.manual_seed(7)

    def part() -> nn.Module:
        if attention == "dense":
            return MultiHeadAttention(D, 3, score=CausalAttention(dropout))
        return ReformerAttention(D, 3, buckets=4, rounds=2, chunk=4, dropout=dropout)

    return ReversibleStack(
        layers, D, attention=part, feed_forward=lambda: FeedForward(D, 19, dropout=dropout), dropout=dropout
    )


def plainly(of: ReversibleStack, x: Tensor, allowed: Tensor | None = None) -> Tensor:
    first = second = x
    for layer in of.layers:
        assert isinstance(layer, ReversibleLayer)
        first = first + layer.attend(second, allowed)
        second = second + layer.feed(first)
    out: Tensor = of.norm((first + second) / 2)
    return out


def gradients(out: Tensor, of: nn.Module, x: Tensor) -> list[Tensor]:
    weight = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view(out.shape)
    return list(torch.autograd.grad((out * weight).sum(), [x, *of.parameters()]))


@pytest.mark.parametrize("attention", ["dense", "hashed"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_reversible_layers_have_the_gradients_of_plain_ones(dropout: float, attention: str) -> None:
    of = stack(dropout=dropout, attention=attention).double()
    x = torch.randn(B, N, D, dtype=torch.float64, requires_grad=True)
    allowed = masks.padding(torch.tensor([N, N - 3]), N)
    found = []
    for run in (of, lambda x, allowed: plainly(of, x, allowed)):
        torch.manual_seed(11)
        out = run(x, allowed)
        after = torch.rand(1)
        torch.rand(5)
        found.append([out.detach(), after, *gradients(out, of, x)])
    for one, other in zip(*found, strict=True):
        assert_close(one, other)


def test_the_backward_pass_leaves_the_random_numbers_alone() -> None:
    of = stack(dropout=0.3)
    x = torch.randn(B, N, D, requires_grad=True)
    out = of(x)
    before = torch.get_rng_state()
    gradients(out, of, x)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("layers", [2, 20])
def test_what_is_kept_does_not_grow_with_depth(layers: int) -> None:
    of = stack(layers)
    x = torch.randn(B, N, D, requires_grad=True)
    kept: list[int] = []

    def keep(saved: Tensor) -> Tensor:
        if not isinstance(saved, nn.Parameter):
            kept.append(saved.numel())
        return saved

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved):
        of(x)
    # The two streams at the end, and what the last norm keeps.
    assert 2 * x.numel() <= sum(kept) <= 5 * x.numel()


def test_gradients_are_right_under_autocast() -> None:
    of = stack()
    x = torch.randn(B, N, D, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        out = of(x)
        plain = plainly(of, x)
    for one, other in zip(gradients(out.float(), of, x), gradients(plain.float(), of, x), strict=True):
        assert_close(one, other, atol=0.05 * float(other.abs().max()) + 1e-6, rtol=0.05)


def test_a_frozen_parameter_gets_no_gradient() -> None:
    of = stack()
    frozen = next(of.parameters()).requires_grad_(False)
    of(torch.randn(B, N, D)).sum().backward()
    assert frozen.grad is None
    assert all(p.grad is not None for p in of.parameters() if p is not frozen)


def test_cached_steps_equal_the_whole() -> None:
    of = stack().double().eval()
    x = torch.randn(B, N, D, dtype=torch.float64)
    whole = of(x)
    caches = of.begin(B)
    for start in range(N):
        assert_close(of.step(x[:, start : start + 1], caches, None), whole[:, start : start + 1])


def test_reversible_layers_are_pre_norm() -> None:
    with pytest.raises(ValueError, match="pre-norm"):
        ReversibleStack(1, D, attention=nn.Identity, feed_forward=nn.Identity, residual=PostNorm, dropout=0.0)


@pytest.mark.parametrize("n", [5, 8, 13])
def test_chunks_do_not_change_a_feed_forward_network(n: int) -> None:
    chunked = ChunkedFeedForward(D, 19, chunk=4, activation="gelu").double()
    plain = FeedForward(D, 19, activation="gelu").double()
    plain.load_state_dict(chunked.state_dict())
    x = torch.randn(B, n, D, dtype=torch.float64, requires_grad=True)
    assert_close(chunked(x), plain(x))
    for one, other in zip(gradients(chunked(x), chunked, x), gradients(plain(x), plain, x), strict=True):
        assert_close(one, other)
    with torch.no_grad():
        assert_close(chunked(x), plain(x))
