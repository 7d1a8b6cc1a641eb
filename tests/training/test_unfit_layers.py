"""Weights that cannot be trained or saved are refused before training, by name and with a remedy."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from backwards import small_transformer
from torch import nn

from multihead.errors import UserError
from multihead.training.trainability import refuse_unfit


def lazy(made: Any) -> None:
    made.encoder.extra = nn.LazyLinear(24)


def expanded(made: Any) -> None:
    made.encoder.extra = nn.Parameter(torch.zeros(1).expand(24))


def expanded_buffer(made: Any) -> None:
    made.encoder.register_buffer("extra", torch.zeros(1).expand(24))


def sparse(made: Any) -> None:
    made.encoder.extra = nn.Embedding(7, 24, sparse=True)


def sparse_buffer(made: Any) -> None:
    made.encoder.register_buffer("extra", torch.eye(3).to_sparse())


def without_numbers(made: Any) -> None:
    made.encoder.extra = nn.Linear(3, 3, device="meta")


def hidden(made: Any) -> None:
    made.encoder.extra = [nn.Linear(24, 24)]


def hidden_deeper(made: Any) -> None:
    made.encoder.extra = {"a": (nn.Parameter(torch.zeros(3)),)}


def one_memory(made: Any) -> None:
    weight = made.encoder.layers[0].feed_forward.w_1.weight
    made.encoder.extra = nn.Parameter(weight)  # another object


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        (lazy, r"encoder\.extra\.weight has no shape before the first batch"),
        (expanded, r"encoder\.extra is an expanded tensor"),
        (expanded_buffer, r"encoder\.extra is an expanded tensor"),
        (sparse, r"encoder\.extra has sparse gradients"),
        (sparse_buffer, r"encoder\.extra is a sparse or quantised tensor"),
        (without_numbers, r"encoder\.extra\.weight has no numbers"),
        (hidden, r"encoder\.extra is a plain list with parameters, which are neither trained nor saved"),
        (hidden_deeper, r"encoder\.extra is a plain dict with parameters"),
        (one_memory, r"share memory, but are two parameters"),
    ],
)
def test_a_weight_that_cannot_be_trained_or_saved_is_named(change: Callable[[Any], None], fact: str) -> None:
    made = small_transformer()
    refuse_unfit(made)
    change(made)
    with pytest.raises(UserError, match=fact) as told:
        refuse_unfit(made)
    assert told.value.place == "model"
    assert told.value.remedy


def test_shared_layers_and_frozen_teachers_are_accepted() -> None:
    made: Any = small_transformer(num_layers=2)
    made.encoder.layers[1] = made.encoder.layers[0]
    made.encoder.parent = [made]
    made.encoder.teacher = [small_transformer().requires_grad_(False)]
    made.encoder.register_buffer("table", torch.zeros(1).expand(7), persistent=False)
    made.encoder.recurrent = nn.GRU(3, 3)
    refuse_unfit(made)
