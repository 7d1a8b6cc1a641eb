"""Which weights a run ends with."""

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from multihead.settings import TrainingSettings
from multihead.training.model_selection import Weights, best_of, candidates, is_better

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "than", "metric", "expected"),
    [
        (2.0, 3.0, "loss", True),
        (3.0, 2.0, "loss", False),
        (2.0, 2.0, "loss", False),
        (3.0, 2.0, "bleu", True),
        (2.0, 3.0, "chrf", False),
        (NAN, 2.0, "loss", False),
        (NAN, 2.0, "bleu", False),
        (2.0, NAN, "loss", True),
        (2.0, NAN, "bleu", True),
        (NAN, NAN, "loss", False),
    ],
)
def test_better_is_lower_for_the_loss_and_higher_for_scores(
    value: float, than: float, metric: str, expected: bool
) -> None:
    assert is_better(value, than, metric) is expected


def test_of_equals_the_first_is_best() -> None:
    def chosen(metric: str, **values: float) -> str:
        return best_of({name: {metric: value} for name, value in values.items()}, metric)

    assert chosen("bleu", average=30.0, best=31.0, ema=31.0) == "best"
    assert chosen("loss", average=2.0, best=3.0) == "average"
    assert chosen("loss", average=NAN, best=3.0) == "best"
    early = {"average": {"bleu": 0.0, "loss": 5.6}, "best": {"bleu": 0.0, "loss": 5.5}}
    assert best_of(early, "bleu") == "best"


def offered(final: str, *, scheduled: int, ema: bool, went_on: bool = False) -> Mapping[str, Weights]:
    def weight(value: float) -> dict[str, Tensor]:
        return {"w": torch.tensor(value)}

    found = candidates(
        TrainingSettings.model_validate({"final": final}),
        last=lambda: weight(100.0),
        best=(lambda: weight(200.0)) if scheduled else None,
        scheduled=[lambda number=number: weight(number) for number in range(scheduled)],  # type: ignore[misc]
        went_on=went_on,
        ema=weight(300.0) if ema else None,
    )
    return {name: load() for name, load in found.items()}


@pytest.mark.parametrize(
    ("final", "scheduled", "ema", "names"),
    [
        ("auto", 3, True, ["average", "best", "ema"]),
        ("auto", 3, False, ["average", "best"]),
        ("auto", 1, False, ["best"]),
        ("auto", 0, False, ["last"]),
        ("auto", 0, True, ["ema"]),
        ("average", 3, True, ["average"]),
        ("average", 1, False, ["last"]),
        ("best", 3, True, ["best"]),
        ("best", 0, False, ["last"]),
        ("ema", 3, True, ["ema"]),
        ("ema", 3, False, ["last"]),
        ("last", 3, True, ["last"]),
    ],
)
def test_what_may_become_the_model(final: str, scheduled: int, ema: bool, names: list[str]) -> None:
    found = offered(final, scheduled=scheduled, ema=ema)
    assert list(found) == names
    expected = {"average": (scheduled - 1) / 2, "best": 200.0, "ema": 300.0, "last": 100.0}
    assert {name: weights["w"].item() for name, weights in found.items()} == {
        name: expected[name] for name in names
    }


def test_updates_after_the_last_scheduled_checkpoint_may_become_the_model_too() -> None:
    assert list(offered("auto", scheduled=3, ema=True, went_on=True)) == ["average", "best", "ema", "last"]
    assert list(offered("best", scheduled=3, ema=False, went_on=True)) == ["best"]
