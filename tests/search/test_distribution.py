"""A row's log-normaliser and top-k, natively at every processor level and in plain PyTorch."""

import pytest
import torch
from torch import inf, nan
from torch.testing import assert_close

from multihead.errors import UserError
from multihead.search.distribution import largest, log_normaliser

pytestmark = pytest.mark.usefixtures("every_level")


@pytest.mark.parametrize("vocabulary", [1, 13, 64, 67, 1009])
def test_the_normaliser_is_that_of_the_equation(vocabulary: int) -> None:
    logits = 17 * torch.randn(11, vocabulary)
    if vocabulary > 2:
        logits[3, 1] = -inf
        logits[5] = -inf
        logits[5, -1] = 3.0
    expected = logits.double().logsumexp(1).float()
    assert_close(log_normaliser(logits, 0), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("place", [0, 63, 66])
@pytest.mark.parametrize("wrong", [nan, inf])
def test_invalid_scores_are_reported_with_their_step(place: int, wrong: float) -> None:
    logits = torch.randn(5, 67)
    logits[2, place] = wrong
    with pytest.raises(UserError, match="not finite"):
        log_normaliser(logits, 7)


def test_a_row_of_minus_infinities_is_no_distribution() -> None:
    logits = torch.randn(5, 67)
    logits[4] = -inf
    with pytest.raises(UserError, match="not finite"):
        log_normaliser(logits, 7)


@pytest.mark.parametrize("vocabulary", [1, 13, 64, 67, 1009])
@pytest.mark.parametrize("k", [1, 5, 29, 71])
def test_the_top_k_values_and_columns_are_found(vocabulary: int, k: int) -> None:
    logits = torch.randn(11, vocabulary)
    values, columns = largest(logits, k)
    expected = logits.sort(dim=1, descending=True).values[:, :k]
    assert torch.equal(values, expected)
    assert torch.equal(logits.gather(1, columns), values)
    assert all(len(set(row)) == len(row) for row in columns.tolist())


def test_ties_are_taken_once_each_in_the_same_order_in_every_row() -> None:
    logits = torch.zeros(3, 131)
    logits[:, 70] = 1.0
    logits[:, 5] = -inf
    values, columns = largest(logits, 7)
    assert torch.equal(values, torch.tensor([1.0] + [0.0] * 6).expand(3, 7))
    assert torch.equal(columns[0], columns[1])
    assert torch.equal(columns[0], columns[2])
    assert len(set(columns[0].tolist()) - {5}) == 7


def test_minus_infinity_comes_last() -> None:
    logits = torch.full((2, 67), -inf)
    logits[:, 66] = 0.0
    values, columns = largest(logits, 3)
    assert values.tolist() == [[0.0, -inf, -inf]] * 2
    assert columns[:, 0].tolist() == [66, 66]
    assert int(columns.max()) < 67
    assert int(columns.min()) >= 0
