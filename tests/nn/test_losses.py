"""Losses as sums and counts."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from multihead.errors import UserError
from multihead.nn.kernels.linear_cross_entropy import linear_cross_entropy
from multihead.nn.losses import LossTerm, objective, smoothed_cross_entropy, validation_terms


def test_the_objective_is_the_weighted_sum_of_means() -> None:
    loss = {
        "words": LossTerm(2.0, torch.tensor(10.0), per="tokens"),
        "lengths": LossTerm(0.5, torch.tensor(6.0), per="sentences"),
    }
    assert_close(objective(loss, {"tokens": 5, "sentences": 3}), torch.tensor(2 * 10 / 5 + 0.5 * 6 / 3))


def test_a_term_of_weight_zero_is_a_metric_and_may_be_anything() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    loss = {"loss": LossTerm(1.0, x, per="tokens"), "metric": LossTerm(0.0, x * torch.nan, per="images")}
    found = objective(loss, {"tokens": 2})
    found.backward()  # type: ignore[no-untyped-call]
    assert_close(found.detach(), torch.tensor(1.5))
    assert_close(x.grad, torch.tensor(0.5))


def test_ties_count_as_correct_as_in_the_fused_loss() -> None:
    hidden = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    weight = torch.tensor([[2.0, 0.0], [2.0, 1.0], [1.0, 0.0]])
    targets = torch.tensor([1, 2, 1])
    _, _, correct = smoothed_cross_entropy(hidden @ weight.T, targets, 0.1)
    assert correct == linear_cross_entropy(hidden, weight, targets, 0.1)[2] == 2


@pytest.mark.parametrize(
    ("loss", "fact"),
    [
        (torch.tensor(1.0), "the model returns a Tensor"),
        ({}, "the model returns none"),
        ({"loss": torch.tensor(1.0)}, 'the model returns "loss"'),
        ({"nll": LossTerm(0.0, torch.tensor(1.0), per="tokens")}, 'the model returns "nll"'),
        ({"loss": LossTerm(1.0, torch.tensor(1.0), per="words")}, 'the term "loss" is divided by "words"'),
    ],
)
def test_a_loss_that_cannot_be_trained_is_an_error_with_its_place(loss: Any, fact: str) -> None:
    with pytest.raises(UserError) as caught:
        objective(loss, {"tokens": 3})
    assert fact in str(caught.value)
    assert "Model.loss" in str(caught.value)


def test_validation_names_the_term_that_a_loss_lacks() -> None:
    loss = {name: LossTerm(1.0, torch.tensor(1.0), per="tokens") for name in ("loss", "nll")}
    assert validation_terms(loss, "nll") == {"nll": loss["nll"]}
    with pytest.raises(UserError, match='the loss\'s term "accuracy", and the model returns "loss", "nll"'):
        validation_terms(loss, "nll", "accuracy")
