"""Cached steps, as in search, against whole sequences."""

import pytest
import torch
from walking import BOS, PREFIXES, V, Walk, source_of, walk_from_copied_rows, walk_through

from multihead.models.transformer import Settings, Transformer


def model_with(**changed: object) -> Transformer:
    given: dict[str, object] = {
        "source_vocab": V,
        "target_vocab": V,
        "d_model": 14,
        "d_ff": 19,
        "num_layers": 2,
        "num_heads": 3,
        "d_k": 5,
    }
    return Transformer(Settings.model_validate(given | changed)).eval()


VARIANTS = pytest.mark.parametrize(
    "changed",
    [
        {},
        {"norm": "pre", "d_v": 7, "tied": "none"},
        {"positions": "learned", "max_positions": 47},
        {"positions": "none"},
    ],
    ids=["base", "pre-norm", "learned", "none"],
)


@VARIANTS
@PREFIXES
@torch.inference_mode()
def test_cached_steps_equal_the_whole_sequence(changed: dict[str, object], prefixes: list[list[int]]) -> None:
    walk_through(model_with(**changed), prefixes)


@torch.inference_mode()
def test_rows_may_be_copied_before_the_first_step() -> None:
    walk_from_copied_rows(model_with())


@torch.inference_mode()
def test_a_long_search_outgrows_every_buffer() -> None:
    walk = Walk(model_with(), source_of([3, 5]), [[BOS], [BOS, 5]])
    for _ in range(70):
        _, walk.state = walk.model.step(torch.tensor([row[-1] for row in walk.rows]), walk.state)
        walk.select(2)
    walk.step()


@torch.inference_mode()
def test_a_learned_limit_counts_a_sentences_own_tokens() -> None:
    walk = Walk(
        model_with(positions="learned", max_positions=7),
        source_of([3, 5]),
        [[BOS], [BOS, 5, 4, 9, 7, 6]],
    )
    walk.step()
    walk.select(1)
    walk.step()
    walk.keep([0])
    for _ in range(5):
        walk.select(1)
        walk.step()
    walk.select(1)
    with pytest.raises(ValueError, match="position 8 is beyond the 7 learned positions"):
        walk.step()
