"""RowState: selection, dropped sentences, and prefixes of different lengths."""

from dataclasses import replace

import torch
from torch import Tensor

from multihead.nn.parts.row_state import RowState, read_prefixes


def numbered(sentences: int, each: int) -> RowState:
    rows = torch.arange(sentences * each)
    return RowState(sentences, (torch.arange(sentences) * 100,), (rows, rows[:, None].expand(-1, 3) * 7))


def test_selecting_moves_rows_and_leaves_the_source() -> None:
    state = numbered(2, 3).select(torch.tensor([2, 2, 0, 1, 4, 3, 3, 5]))
    assert state.own[0].tolist() == [2, 2, 0, 1, 4, 3, 3, 5]
    assert state.own[1][:, 1].tolist() == [14, 14, 0, 7, 28, 21, 21, 35]
    assert state.source[0].tolist() == [0, 100]


def test_keeping_sentences_keeps_all_their_rows() -> None:
    state = numbered(5, 3).keep(torch.tensor([1, 4]))
    assert state.sentences == 2
    assert state.source[0].tolist() == [100, 400]
    assert state.own[0].tolist() == [3, 4, 5, 12, 13, 14]
    assert state.keep(torch.tensor([1])).own[0].tolist() == [12, 13, 14]


def test_prefixes_of_different_lengths_are_read_but_for_their_last_token() -> None:
    def advance(tokens_R: Tensor, state: RowState) -> RowState:
        numbers, traces = state.own
        return replace(state, own=(numbers * 10 + tokens_R, traces + tokens_R[:, None]))

    before = RowState(4, (), (torch.zeros(4, dtype=torch.long), torch.zeros(4, 3)))
    after = read_prefixes(advance, before, [[2], [2, 5, 7, 9], [3, 4], [6, 1, 8]])
    assert after.own[0].tolist() == [0, 257, 3, 61]
    assert after.own[1][:, 0].tolist() == [0, 14, 3, 7]
