"""Cached steps, as in search, against whole sequences: LSTM, attention, convolution."""

import pytest
import torch
from ladder import EVERY, V, model_of
from walking import PREFIXES, walk_from_copied_rows, walk_through

from multihead.models.transformer import Settings, Transformer


@EVERY
@PREFIXES
@torch.inference_mode()
def test_cached_steps_equal_the_whole_sequence(name: str, prefixes: list[list[int]]) -> None:
    walk_through(model_of(name), prefixes)


@pytest.mark.parametrize("window", [1, 3, 7])
@PREFIXES
@torch.inference_mode()
def test_a_window_leaves_cached_steps_equal_to_the_whole(window: int, prefixes: list[list[int]]) -> None:
    settings = Settings(
        source_vocab=V, target_vocab=V, d_model=12, d_ff=19, num_layers=2, num_heads=3, window=window
    )
    walk_through(Transformer(settings).eval(), prefixes)


@EVERY
@torch.inference_mode()
def test_rows_may_be_copied_before_the_first_step(name: str) -> None:
    walk_from_copied_rows(model_of(name))
