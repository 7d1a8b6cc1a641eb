"""Training metrics and progress: means by hand, JSON and back."""

import pytest

from multihead.data.stream import StreamPosition
from multihead.training.progress import IntervalMetrics, TrainingProgress
from multihead.training.update import UpdateStats


def test_metrics_are_means_the_last_rate_and_the_eta() -> None:
    metrics = IntervalMetrics()
    first = UpdateStats({"loss": 12.0, "codes": 1.0}, {"loss": 4, "codes": 1}, norm=1.0)
    second = UpdateStats({"loss": 6.0, "codes": 2.0}, {"loss": 2, "codes": 1}, norm=2.0)
    metrics.add_started(tokens=4, rate=0.1)
    metrics.add_started(tokens=2, rate=0.2)
    metrics.add_finished([first, second])
    metrics.seconds += 1.5
    assert metrics.means() == pytest.approx({"loss": 18 / 6, "codes": 3 / 2})
    assert metrics.speed(remaining=10) == pytest.approx(
        {"rate": 0.2, "norm": 1.5, "tokens_per_second": 6 / 1.5, "eta_seconds": 10 * 1.5 / 2}
    )
    assert IntervalMetrics.from_dict(metrics.to_dict()) == metrics


@pytest.mark.parametrize(
    "changed", [{"sums": 3}, {"updates": "1"}, {"other": 1}, {"sums": {"loss": 1.0}}, {"counts": {"a": None}}]
)
def test_malformed_metrics_are_refused(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not the metrics of updates"):
        IntervalMetrics.from_dict({**IntervalMetrics().to_dict(), **changed})


def test_progress_survives_json() -> None:
    unlogged = IntervalMetrics({"loss": 2.5}, {"loss": 3}, 1, 5, 0.5, 0.1, 2.0)
    progress = TrainingProgress(7, StreamPosition(3, 1), 50, 11.0, 2.5, 5, 2, [3, 5], "enough", unlogged)
    saved = progress.to_dict()
    assert TrainingProgress.from_dict(saved) == progress
    earlier = {"untold": saved.pop("unlogged"), **saved}
    assert TrainingProgress.from_dict(earlier) == progress


@pytest.mark.parametrize(
    "changed",
    [
        {"position": None},
        {"position": {"epoch": 0, "batch": "3"}},
        {"step": "7"},
        {"step": -7},
        {"tokens": 1.5},
        {"best": "3"},
        {"best": ""},
        {"scheduled": [5, "x"]},
        {"scheduled": 5},
        {"seconds": None},
        {"more": 1},
    ],
)
def test_malformed_progress_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not the progress of a training run"):
        TrainingProgress.from_dict({**TrainingProgress().to_dict(), **changed})
