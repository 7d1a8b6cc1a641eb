"""Scheduled sampling: the mixture of true and predicted tokens that a decoder reads."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from multihead.nn.parts.row_state import RowState
from multihead.nn.parts.scheduled_sampling import sampled_unroll, true_token_probability
from multihead.system import randomness

B, T, V = 101, 7, 13
RIGHT = torch.arange(B * T).view(B, T) % 5


def unrolled(chance: float) -> list[Tensor]:
    """The tokens read by a decoder whose most probable token is always 11, T tensors (B,)."""
    read: list[Tensor] = []

    def reader(tokens_B: Tensor, state: RowState) -> tuple[Tensor, RowState]:
        read.append(tokens_B)
        return torch.full((B, 3), float(len(read))), replace(state, own=(state.own[0] + 1,))

    def logits(hidden_Bd: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(torch.full((B,), 11), V)

    hidden = sampled_unroll(reader, logits, RIGHT, RowState(B, (), (torch.zeros(B),)), chance)
    assert_close(hidden, torch.arange(1.0, T + 1)[:, None].expand(B, T, 3))
    return read


def test_the_begin_symbol_is_always_read() -> None:
    assert torch.equal(unrolled(0.0)[0], RIGHT[:, 0])


def test_probability_zero_reads_predictions_and_one_reads_true_tokens() -> None:
    assert all((tokens == 11).all() for tokens in unrolled(0.0)[1:])
    assert torch.equal(torch.stack(unrolled(1.0), dim=1), RIGHT)


def test_the_share_of_true_tokens_is_the_probability_and_seeded() -> None:
    with randomness.at(1, "update", 7):
        read = torch.stack(unrolled(0.7), dim=1)
    own = read == 11
    assert torch.equal(torch.where(own, RIGHT, read), RIGHT)
    assert 0.64 < 1 - float(own[:, 1:].float().mean()) < 0.76
    with randomness.at(1, "update", 7):
        assert torch.equal(torch.stack(unrolled(0.7), dim=1), read)
    with randomness.at(1, "update", 8):
        assert not torch.equal(torch.stack(unrolled(0.7), dim=1), read)


@pytest.mark.parametrize(("step", "expected"), [(0, 1.0), (25, 0.9), (50, 0.8), (100, 0.6), (9999, 0.6)])
def test_the_probability_decays_linearly(step: int, expected: float) -> None:
    assert true_token_probability(step, 0.6, 100) == pytest.approx(expected)
    assert true_token_probability(step, 0.6, 0) == 0.6
