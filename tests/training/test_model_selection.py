"""Selection of the final weights."""

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from multihead.recipe.settings import TrainingSettings
from multihead.training.averaging import Weights
from multihead.training.checkpoints import is_better
from multihead.training.model_selection import candidate_weights, select_best

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


def test_ties_go_to_the_first_and_to_the_lower_loss_where_nothing_is_right_yet() -> None:
    def best(metric: str, **values: float) -> str:
        return select_best({name: {metric: value} for name, value in values.items()}, metric)

    assert best("bleu", average=30.0, best=31.0, ema=31.0) == "best"
    assert best("loss", average=2.0, best=3.0) == "average"
    assert best("loss", average=NAN, best=3.0) == "best"
    early = {"average": {"bleu": 0.0, "loss": 5.6}, "best": {"bleu": 0.0, "loss": 5.5}}
    assert select_best(early, "bleu") == "best"
    perfect = {"average": {"wer": 0.0, "loss": 0.3}, "best": {"wer": 0.0, "loss": 0.2}}
    assert select_best(perfect, "wer") == "average"


def candidates(
    final: str, *, scheduled: int, ema: bool, updated_since: bool = False
) -> Mapping[str, Weights]:
    def weight(value: float) -> dict[str, Tensor]:
        return {"w": torch.tensor(value)}

    found = candidate_weights(
        TrainingSettings.model_validate({"final": final}),
        last=lambda: weight(100.0),
        best=(lambda: weight(200.0)) if scheduled else None,
        scheduled=[lambda number=number: weight(number) for number in range(scheduled)],  # type: ignore[misc]
        updated_since=updated_since,
        ema=weight(300.0) if ema else None,
    )
    return {name: load() for name, load in found.items()}


@pytest.mark.parametrize(
    ("final", "scheduled", "ema", "names"),
    [
        ("auto", 3, True, ["average", "ema", "best"]),
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
def test_candidates_follow_the_setting_and_the_available_weights(
    final: str, scheduled: int, ema: bool, names: list[str]
) -> None:
    found = candidates(final, scheduled=scheduled, ema=ema)
    assert list(found) == names
    expected = {"average": (scheduled - 1) / 2, "best": 200.0, "ema": 300.0, "last": 100.0}
    assert {name: weights["w"].item() for name, weights in found.items()} == {
        name: expected[name] for name in names
    }


def test_weights_newer_than_the_last_scheduled_checkpoint_are_a_candidate() -> None:
    found = candidates("auto", scheduled=3, ema=True, updated_since=True)
    assert list(found) == ["average", "ema", "last", "best"]
    assert list(candidates("best", scheduled=3, ema=False, updated_since=True)) == ["best"]
