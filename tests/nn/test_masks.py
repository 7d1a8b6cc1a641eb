"""Masks: one polarity, True = may attend."""

import torch

from multihead.nn import masks


def test_padding_allows_the_first_keys_of_each_sentence() -> None:
    allowed = masks.padding(torch.tensor([3, 5, 1]), 5)
    assert allowed.dtype == torch.bool
    assert allowed.shape == (3, 1, 1, 5)
    assert allowed.int().flatten(1).tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]]


def test_causal_allows_each_position_itself_and_earlier_ones() -> None:
    allowed = masks.causal(3)
    assert allowed.dtype == torch.bool
    assert allowed.shape == (1, 1, 3, 3)
    assert allowed[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_masks_combine_with_and() -> None:
    both = masks.causal(3) & masks.padding(torch.tensor([2, 3]), 3)
    assert both[:, 0].int().tolist() == [
        [[1, 0, 0], [1, 1, 0], [1, 1, 0]],
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
    ]


def test_a_window_allows_the_nearest_positions_and_combines_with_other_masks() -> None:
    allowed = masks.window(5, 3)[0, 0]
    assert allowed.int().tolist() == [
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [0, 1, 1, 1, 0],
        [0, 0, 1, 1, 1],
        [0, 0, 0, 1, 1],
    ]
    assert torch.equal(masks.window(5, 9), torch.ones(1, 1, 5, 5, dtype=torch.bool))
    assert torch.equal(masks.window(5, 1)[0, 0], torch.eye(5, dtype=torch.bool))
    both = (masks.window(5, 3) & masks.causal(5))[0, 0]
    assert both.sum(1).tolist() == [1, 2, 2, 2, 2]
