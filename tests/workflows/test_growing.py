"""Trained weights of a smaller vocabulary are carried over into a model of a larger one."""

import torch
from torch import Tensor
from torch.testing import assert_close

from multihead.workflows.new_model import grow_weights

OLD, NEW = 11, 13


def weights(vocabulary: int, number: float) -> dict[str, Tensor]:
    """Return weights as embeddings and changed layers have them."""
    return {
        "embedding": torch.full((vocabulary, 3), number),
        "transposed": torch.full((3, vocabulary), number),
        "both": torch.full((vocabulary, vocabulary), number),
        "of each layer": torch.full((2, vocabulary, 3), number),
        "bias": torch.full((vocabulary,), number),
        "width": torch.full((OLD, 3), number),
        "scalar": torch.tensor(number),
    }


def test_every_axis_of_the_vocabulary_grows_wherever_it_stands() -> None:
    found = grow_weights(weights(OLD, 1.0), weights(NEW, 2.0), OLD, NEW)
    assert {name: weight.shape for name, weight in found.items()} == {
        name: weight.shape for name, weight in weights(NEW, 2.0).items()
    }
    for name in ("embedding", "transposed", "both", "of each layer", "bias"):
        old, new = found[name] == 1, found[name] == 2
        assert int(old.sum()) == weights(OLD, 1.0)[name].numel()
        assert bool((old | new).all())
    assert_close(found["transposed"][:, OLD:], torch.full((3, NEW - OLD), 2.0))


def test_a_weight_that_differs_in_another_size_is_left_as_it_is() -> None:
    found = grow_weights({"w": torch.ones(OLD, 3)}, {"w": torch.ones(NEW, 4)}, OLD, NEW)
    assert found["w"].shape == (OLD, 3)
    assert grow_weights({"w": torch.ones(OLD)}, {}, OLD, NEW)["w"].shape == (OLD,)
