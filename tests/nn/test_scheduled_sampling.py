"""How often a decoder reads the right word, and what it reads otherwise."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from multihead import randomness
from multihead.nn.row_state import RowState
from multihead.nn.scheduled_sampling import sampled_unroll, true_token_probability

B, T, V = 101, 7, 13
RIGHT = torch.arange(B * T).view(B, T) % 5


def unrolled(chance: float) -> list[Tensor]:
    """What a decoder was given to read that always holds 11 for the likeliest, T times (B,)."""
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


def test_with_chance_zero_its_own_words_with_chance_one_the_right_ones() -> None:
    assert all((tokens == 11).all() for tokens in unrolled(0.0)[1:])
    assert torch.equal(torch.stack(unrolled(1.0), dim=1), RIGHT)


def test_in_between_the_share_is_the_chance_and_the_same_for_the_same_step() -> None:
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
def test_the_chance_falls_linearly(step: int, expected: float) -> None:
    assert true_token_probability(step, 0.6, 100) == pytest.approx(expected)
    assert true_token_probability(step, 0.6, 0) == 0.6
