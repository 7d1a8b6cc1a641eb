"""Learning rates against numbers computed by hand."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.recipe.settings import FirstStage, TrainingSettings
from multihead.training.schedules import learning_rate, staged_rate

RISING = pytest.mark.parametrize("schedule", ["noam", "inverse_sqrt", "cosine", "constant"])


def settings(**given: object) -> TrainingSettings:
    return TrainingSettings.model_validate(given)


def rates(made: TrainingSettings, steps: int) -> list[float]:
    return [learning_rate(step, made, 512) for step in range(1, steps + 1)]


@pytest.mark.parametrize(
    ("step", "rate"),
    [
        (1, 1.746928e-7),
        (2000, 3.493856e-4),
        (4000, 6.987712e-4),
        (16_000, 3.493856e-4),
        (100_000, 1.397542e-4),
    ],
)
def test_noam_is_equation_3_of_the_paper(step: int, rate: float) -> None:
    paper = settings(schedule="noam", learning_rate=1.0, warmup_steps=4000)
    assert learning_rate(step, paper, 512) == pytest.approx(rate, rel=1e-6)
    assert learning_rate(step, paper, 2048) == pytest.approx(rate / 2, rel=1e-6)


@pytest.mark.parametrize(
    ("step", "rate"), [(1, 0.0001), (50, 0.005), (100, 0.01), (400, 0.005), (10_000, 0.001)]
)
def test_inverse_sqrt_by_hand(step: int, rate: float) -> None:
    made = settings(schedule="inverse_sqrt", learning_rate=0.01, warmup_steps=100)
    assert learning_rate(step, made, 512) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("step", "rate"),
    [
        (50, 0.005),
        (100, 0.01),
        (400, 0.01 * (1 + math.sqrt(0.5)) / 2),
        (700, 0.005),
        (1300, 0.0),
        (2000, 0.0),
    ],
)
def test_cosine_falls_to_zero_at_its_horizon_whatever_the_number_of_steps(step: int, rate: float) -> None:
    for steps in (1300, 5000):
        made = settings(schedule="cosine", learning_rate=0.01, warmup_steps=100, horizon=1300, steps=steps)
        assert learning_rate(step, made, 512) == pytest.approx(rate, abs=1e-15)


def test_without_a_horizon_cosine_falls_to_zero_at_the_last_step() -> None:
    made = settings(schedule="cosine", learning_rate=0.01, warmup_steps=0, steps=500)
    assert learning_rate(500, made, 512) == pytest.approx(0, abs=1e-15)
    assert learning_rate(250, made, 512) == pytest.approx(0.005, rel=0.01)


def test_constant_rises_and_stays() -> None:
    made = settings(schedule="constant", learning_rate=0.01, warmup_steps=4)
    assert rates(made, 6) == pytest.approx([0.0025, 0.005, 0.0075, 0.01, 0.01, 0.01])


@RISING
def test_without_warmup_the_first_update_has_the_peak_rate(schedule: str) -> None:
    made = settings(schedule=schedule, learning_rate=0.01, warmup_steps=0, steps=10_000)
    peak = 0.01 / math.sqrt(512) if schedule == "noam" else 0.01
    assert learning_rate(1, made, 512) == pytest.approx(peak, rel=1e-6)


@RISING
@given(warmup=st.integers(1, 97), steps=st.integers(100, 300))
def test_the_rate_peaks_at_the_end_of_warmup_and_never_jumps(schedule: str, warmup: int, steps: int) -> None:
    made = settings(schedule=schedule, warmup_steps=warmup, steps=steps)
    found = rates(made, steps)
    assert max(found) == found[warmup - 1]
    assert all(earlier < later for earlier, later in pairwise(found[:warmup]))
    assert all(earlier >= later for earlier, later in pairwise(found[warmup - 1 :]))
    jumps = [abs(later - earlier) for earlier, later in pairwise(found)]
    steepest = max(1 / warmup, math.pi / 2 / max(1, steps - warmup))
    assert max(jumps) <= steepest * max(found) * (1 + 1e-9)
    assert min(found) >= 0


def test_a_first_stage_has_its_own_cosine_before_the_schedule() -> None:
    first, plain = FirstStage(100, 0.5), {"schedule": "cosine", "learning_rate": 0.01, "warmup_steps": 20}
    made = settings(**plain, steps=300)
    found = [staged_rate(step, first, made, 512) for step in range(1, 301)]
    assert found[9] == pytest.approx(0.5)  # a tenth of the stage
    assert found[54] == pytest.approx(0.25)
    assert found[99] == pytest.approx(0, abs=1e-15)
    assert found[100:] == rates(settings(**plain, steps=200), 200)
    assert [staged_rate(step, None, made, 512) for step in range(1, 301)] == rates(made, 300)
    # An extended run keeps the schedule of its original horizon.
    longer = settings(**plain, steps=400, horizon=300)
    assert [staged_rate(step, first, longer, 512) for step in range(1, 301)] == found


def test_a_run_that_ends_in_its_first_stage_has_a_rate_at_each_step() -> None:
    made = settings(steps=50, schedule="cosine", horizon=50, warmup_steps=7)
    found = [staged_rate(step, FirstStage(50, 0.5), made, 512) for step in range(1, 61)]
    assert all(0 <= rate <= 0.5 for rate in found)
    assert found[4] == pytest.approx(0.5)
