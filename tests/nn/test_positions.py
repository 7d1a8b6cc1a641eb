"""Positional encodings against their formulas in plain loops."""

import gc
import math
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from multihead.nn import LearnedPositions, SinusoidalPositions
from multihead.nn.positions import NoPositions, sinusoids

B, D = 3, 14


@given(length=st.integers(1, 23), d_model=st.integers(1, 17))
def test_interleaved_sinusoids_are_the_papers(length: int, d_model: int) -> None:
    expected = [
        [
            (math.sin if j % 2 == 0 else math.cos)(pos / 10_000 ** (2 * (j // 2) / d_model))
            for j in range(d_model)
        ]
        for pos in range(length)
    ]
    assert_close(sinusoids(length, d_model), torch.tensor(expected))


@given(length=st.integers(1, 23), half=st.integers(2, 9))
def test_concatenated_sinusoids_are_those_of_the_authors_code(length: int, half: int) -> None:
    """get_timing_signal_1d: the wavelengths go from 2 pi to 10000 * 2 pi in half - 1 equal ratios."""
    increment = math.log(10_000) / (half - 1)
    angles = [[pos * math.exp(-i * increment) for i in range(half)] for pos in range(length)]
    expected = [[math.sin(a) for a in row] + [math.cos(a) for a in row] for row in angles]
    assert_close(sinusoids(length, 2 * half, interleaved=False), torch.tensor(expected))


@pytest.mark.parametrize("interleaved", [True, False])
def test_far_positions_are_as_exact_as_near_ones(interleaved: bool) -> None:
    far = 99_991
    table = sinusoids(far + 1, 6, interleaved=interleaved)
    fastest_sine, fastest_cosine = table[far, 0], table[far, 1 if interleaved else 3]
    assert_close(torch.stack([fastest_sine, fastest_cosine]), torch.tensor([math.sin(far), math.cos(far)]))


@pytest.mark.parametrize("interleaved", [True, False])
def test_the_table_grows_on_demand(interleaved: bool) -> None:
    positions = SinusoidalPositions(D, interleaved=interleaved)
    for length in (5, 512, 513, 1031, 7):
        x = torch.randn(1, length, D)
        assert_close(positions(x), x + sinusoids(length, D, interleaved=interleaved))


def test_an_outgrown_table_stays_in_memory_for_recorded_graphs() -> None:
    positions = SinusoidalPositions(6)
    first = weakref.ref(positions.table)
    positions(torch.zeros(1, 601, 6))
    gc.collect()
    assert len(positions.table) > 600
    assert first() is not None


def test_sinusoids_are_not_stored_with_the_weights() -> None:
    assert not SinusoidalPositions(D).state_dict()


def test_learned_positions_are_rows_of_a_matrix() -> None:
    positions = LearnedPositions(11, D)
    x = torch.randn(B, 7, D)
    assert_close(positions(x), x + positions.weight[:7])
    assert_close(positions(x, start=4), x + positions.weight[4:11])


def test_no_positions_add_nothing() -> None:
    x = torch.randn(B, 7, D)
    assert NoPositions()(x, start=5) is x


@pytest.mark.parametrize("positions", [SinusoidalPositions(D), LearnedPositions(23, D)])
def test_start_and_shift_select_positions(positions: nn.Module) -> None:
    zero = torch.zeros(B, 5, D)
    table = positions(torch.zeros(1, 23, D))[0]
    assert_close(positions(zero, start=3), table[3:8].expand(B, -1, -1))
    shifted = positions(zero, start=3, shift_B=torch.tensor([0, 2, 3]))
    assert_close(shifted, torch.stack([table[3:8], table[1:6], table[0:5]]))


def test_padding_columns_get_position_zero() -> None:
    shifted = SinusoidalPositions(D)(torch.zeros(2, 3, D), shift_B=torch.tensor([0, 2]))
    assert_close(shifted[1, 2], sinusoids(1, D)[0])
    assert shifted.isfinite().all()


def test_a_position_beyond_the_learned_ones_is_refused() -> None:
    positions = LearnedPositions(11, D)
    with pytest.raises(ValueError, match="position 12 is beyond the 11 learned positions"):
        positions(torch.zeros(B, 12, D))
    with pytest.raises(ValueError, match="position 12 is beyond the 11 learned positions"):
        positions(torch.zeros(B, 1, D), start=11)


def test_a_shifted_sentence_may_use_all_learned_positions() -> None:
    positions = LearnedPositions(11, D)
    late = positions(torch.zeros(2, 1, D), start=13, shift_B=torch.tensor([3, 7]))
    assert_close(late[:, 0], positions.weight[[10, 6]])
    with pytest.raises(ValueError, match="position 12 is beyond the 11 learned positions"):
        positions(torch.zeros(2, 1, D), start=14, shift_B=torch.tensor([3, 7]))


def test_positions_keep_the_inputs_format() -> None:
    x = torch.zeros(1, 3, D, dtype=torch.bfloat16)
    assert SinusoidalPositions(D)(x).dtype == torch.bfloat16
    assert LearnedPositions(5, D)(x).dtype == torch.bfloat16
