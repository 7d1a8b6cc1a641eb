"""Weight averages against plain arithmetic."""

import torch
from torch import nn
from torch.testing import assert_close

from multihead.training.averaging import MovingAverage, mean


def test_the_mean_is_taken_element_by_element() -> None:
    checkpoints = [
        {"w": torch.tensor([1.0, 2.0]), "n": torch.tensor(4)},
        {"w": torch.tensor([2.0, 6.0]), "n": torch.tensor(7)},
    ]
    found = mean(iter(checkpoints))
    assert found["w"].tolist() == [1.5, 4.0]
    assert (found["n"].item(), found["n"].dtype) == (5, torch.int64)


def test_the_mean_of_many_equal_weights_is_that_weight_to_the_last_bit() -> None:
    weight = torch.randn(1009)
    assert torch.equal(mean({"w": weight} for _ in range(7))["w"], weight)


def test_the_mean_is_summed_in_higher_precision_than_its_dtype() -> None:
    values = [torch.tensor([value], dtype=torch.bfloat16) for value in (256.0, 1.0, 1.0, 2.0)]
    found = mean({"w": value} for value in values)["w"]
    assert found.dtype == torch.bfloat16
    assert found.item() == 65.0


class Counting(nn.Module):
    """A weight and an integer buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([10.0, -10.0]))
        self.count: torch.Tensor
        self.register_buffer("count", torch.tensor(0))


def test_the_moving_average_follows_its_recurrence() -> None:
    model, decay = Counting(), 0.9
    ema = MovingAverage(model, decay)
    expected = [10.0, -10.0]
    for step in range(1, 201):
        with torch.no_grad():
            model.weight.copy_(torch.tensor([step, 1.0]))
            model.count.fill_(step)
        ema.update(model, step)
        kept = min(decay, (1 + step) / (10 + step))
        expected = [kept * old + (1 - kept) * new for old, new in zip(expected, (step, 1.0), strict=True)]
        assert_close(ema.weights["weight"], torch.tensor(expected))
    assert ema.weights["count"].item() == 200


def test_the_moving_average_does_not_share_memory_with_the_model() -> None:
    model = Counting()
    ema = MovingAverage(model, 0.9)
    ema.update(model, 1)
    with torch.no_grad():
        model.weight.zero_()
    assert ema.weights["weight"].tolist() == [10.0, -10.0]
