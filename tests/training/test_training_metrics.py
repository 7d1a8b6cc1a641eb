"""What is told of some updates: sums over counts, by hand."""

import pytest

from multihead.data.stream import Position
from multihead.training.metrics import Interval
from multihead.training.progress import Progress
from multihead.training.update import Told


def test_an_interval_tells_means_the_last_rate_and_the_time_left() -> None:
    interval = Interval()
    first = Told({"loss": 12.0, "codes": 1.0}, {"loss": 4, "codes": 1}, norm=1.0)
    second = Told({"loss": 6.0, "codes": 2.0}, {"loss": 2, "codes": 1}, norm=2.0)
    interval.begun(tokens=4, rate=0.1)
    interval.begun(tokens=2, rate=0.2)
    interval.add([first, second])
    interval.seconds += 1.5
    assert interval.means() == pytest.approx({"loss": 18 / 6, "codes": 3 / 2})
    assert interval.pace(left=10) == pytest.approx(
        {"rate": 0.2, "norm": 1.5, "tokens_per_second": 6 / 1.5, "eta_seconds": 10 * 1.5 / 2}
    )
    assert Interval.from_dict(interval.to_dict()) == interval


@pytest.mark.parametrize(
    "changed", [{"sums": 3}, {"updates": "1"}, {"other": 1}, {"sums": {"loss": 1.0}}, {"counts": {"a": None}}]
)
def test_sums_of_another_form_are_refused(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no sums of updates"):
        Interval.from_dict({**Interval().to_dict(), **changed})


def test_progress_survives_json() -> None:
    untold = Interval({"loss": 2.5}, {"loss": 3}, 1, 5, 0.5, 0.1, 2.0)
    progress = Progress(7, Position(3, 1), 50, 11.0, 2.5, 5, 2, [3, 5], "enough", untold)
    assert Progress.from_dict(progress.to_dict()) == progress


@pytest.mark.parametrize(
    "changed",
    [
        {"position": None},
        {"position": {"epoch": 0, "batch": "3"}},
        {"step": "7"},
        {"step": -7},
        {"tokens": 1.5},
        {"best": "3"},
        {"scheduled": [5, "x"]},
        {"scheduled": 5},
        {"seconds": None},
        {"more": 1},
    ],
)
def test_numbers_that_are_not_of_a_training_are_refused(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no progress of a training"):
        Progress.from_dict({**Progress().to_dict(), **changed})
