"""A decoder's key/value cache: kept, moved and dropped with its hypotheses."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from multihead.nn.decoding import DecoderState, LayerCache, left_padded

N, H, S, D_K, D_V = 3, 2, 5, 7, 11


def source_side() -> tuple[Tensor, Tensor]:
    return torch.randn(N, H, S, D_K), torch.randn(N, H, S, D_V)


def written(rows: int, positions: int) -> tuple[Tensor, Tensor]:
    return torch.randn(rows, H, positions, D_K), torch.randn(rows, H, positions, D_V)


@given(sizes=st.lists(st.integers(1, 41), min_size=1, max_size=7))
def test_a_cache_keeps_all_appended_positions_as_it_grows(sizes: list[int]) -> None:
    cache = LayerCache(*source_side())
    parts = [written(N, size) for size in sizes]
    for part in parts:
        keys, values = cache.append(*part)
    assert torch.equal(keys, torch.cat([key for key, _ in parts], dim=2))
    assert torch.equal(values, torch.cat([value for _, value in parts], dim=2))
    assert cache.length == sum(sizes)


def test_select_moves_the_target_side_and_shares_the_source_side() -> None:
    cache = LayerCache(*source_side())
    rows = torch.tensor([1, 0, 3, 3, 5, 4])
    first = written(2 * N, 3)
    cache.append(*first)
    selected = cache.select(rows)
    assert selected.source_keys is cache.source_keys
    assert (selected.rows, selected.sentences, selected.length) == (2 * N, N, 3)
    second = written(2 * N, 1)
    keys, values = selected.append(*second)
    assert torch.equal(keys, torch.cat([first[0][rows], second[0]], dim=2))
    assert torch.equal(values, torch.cat([first[1][rows], second[1]], dim=2))


def test_keep_drops_sentences_on_both_sides() -> None:
    cache = LayerCache(*source_side())
    first, second = written(2 * N, 3), written(4, 1)
    cache.append(*first)
    kept = cache.keep(torch.tensor([0, 2]), torch.tensor([0, 1, 4, 5]))
    assert torch.equal(kept.source_keys, cache.source_keys[[0, 2]])
    assert torch.equal(kept.source_values, cache.source_values[[0, 2]])
    keys, _ = kept.append(*second)
    assert torch.equal(keys, torch.cat([first[0][[0, 1, 4, 5]], second[0]], dim=2))


def test_before_the_first_step_a_sentence_has_one_row() -> None:
    cache = LayerCache(*source_side())
    assert (cache.rows, cache.sentences, cache.length) == (N, N, 0)
    cache.select(torch.arange(N).repeat_interleave(2)).append(*written(2 * N, 1))


def test_prefixes_are_padded_on_the_left() -> None:
    ids, shift = left_padded([[2], [2, 7, 8], [2, 9]], torch.device("cpu"))
    assert ids.tolist() == [[0, 0, 2], [2, 7, 8], [0, 2, 9]]
    assert shift is not None
    assert shift.tolist() == [2, 0, 1]


@pytest.mark.parametrize("prefixes", [[[2], [3]], [[], []], [[2, 3], [4, 5]]])
def test_prefixes_of_one_length_need_no_shift(prefixes: list[list[int]]) -> None:
    ids, shift = left_padded(prefixes, torch.device("cpu"))
    assert ids.tolist() == prefixes
    assert shift is None


def state_after(length: int, rows: int, shift: list[int] | None) -> DecoderState:
    cache = LayerCache(*source_side())
    if length:
        cache.append(*written(rows, length))
    allowed = torch.ones(N, 1, 1, S, dtype=torch.bool)
    return DecoderState((cache,), allowed, None if shift is None else torch.tensor(shift))


def test_one_more_column_without_padding_needs_no_mask() -> None:
    assert state_after(3, N, None).shift_and_mask(torch.zeros(N, 1, dtype=torch.long)) == (None, None)


def test_several_new_columns_attend_causally() -> None:
    shift, allowed = state_after(2, N, None).shift_and_mask(torch.zeros(N, 3, dtype=torch.long))
    assert shift is None
    assert allowed is not None
    assert allowed.shape == (1, 1, 3, 5)
    assert allowed[0, 0].int().tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]


def test_padding_columns_are_attended_to_by_themselves_only() -> None:
    _, allowed = state_after(0, N, [0, 2, 1]).shift_and_mask(torch.zeros(N, 3, dtype=torch.long))
    assert allowed is not None
    assert allowed[:, 0].int().tolist() == [
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[1, 0, 0], [0, 1, 0], [0, 1, 1]],
    ]


def test_every_hypothesis_has_the_shift_of_its_sentence() -> None:
    state = state_after(3, 2 * N, [0, 2, 1])
    shift, allowed = state.shift_and_mask(torch.zeros(2 * N, 1, dtype=torch.long))
    assert shift is not None
    assert allowed is not None
    assert shift.tolist() == [0, 0, 2, 2, 1, 1]
    assert allowed[2, 0].int().tolist() == [[0, 0, 1, 1]]


def test_a_state_keeps_sentences_with_all_their_hypotheses() -> None:
    state = state_after(3, 2 * N, [0, 2, 1])
    kept = state.keep(torch.tensor([1, 2]))
    assert kept.length == 3
    assert kept.caches[0].rows == 4
    assert kept.source_allowed.shape[0] == 2
    assert kept.shift_N is not None
    assert kept.shift_N.tolist() == [2, 1]
    keys_before, _ = state.caches[0].append(*written(2 * N, 1))
    keys_after, _ = kept.caches[0].append(*written(4, 1))
    assert torch.equal(keys_after[:, :, :3], keys_before[2:, :, :3])
