"""The end of a training: cool-down by patience, by time, by request; the same bytes after a resume."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from backwards import Silent, contents, fit, training_in
from torch import nn

from multihead.errors import UserError
from multihead.recipe.settings import OptimisationSettings
from multihead.run import Run
from multihead.training import Training, Validation
from multihead.training.schedules import Cooldown, cooldown_after, latest_cooldown, learning_rate

WSD: dict[str, object] = {"schedule": "wsd", "steps": 47, "log_every": 1, "cooldown": 0.5}
PATIENT: dict[str, object] = {"patience": 2}


class StopsAt(Silent):
    """Interrupts the training after an update."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.last = step

    def on_step(self, step: int) -> None:
        if step == self.last:
            raise KeyboardInterrupt


def until(best: int) -> Callable[[nn.Module, int], Validation]:
    """A validation that improves until a step, and never after it."""
    return lambda model, step: Validation({"loss": 3.0 - min(step, best) / 100})


def rates(observer: Silent) -> list[float]:
    return [event["rate"] for event in observer.updates]


def test_the_rate_is_constant_and_then_falls_with_the_square_root_of_what_is_done() -> None:
    made = OptimisationSettings(schedule="wsd", learning_rate=0.5, warmup_steps=5, steps=97, cooldown=0.5)
    assert learning_rate(3, made, 7) == pytest.approx(0.3)
    assert learning_rate(96, made, 7) == 0.5
    cooldown = cooldown_after(14, made)
    assert cooldown == (14, 21)
    assert learning_rate(14, made, 7, cooldown) == 0.5
    assert learning_rate(16, made, 7, cooldown) == pytest.approx(0.5 * (1 - (2 / 8) ** 0.5))
    falling = [learning_rate(step, made, 7, cooldown) for step in range(14, 22)]
    assert all(before > after > 0 for before, after in pairwise(falling))


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 53, 2003])
def test_the_latest_cool_down_ends_with_the_last_step(steps: int) -> None:
    first, last = latest_cooldown(OptimisationSettings(steps=steps, cooldown=0.2))
    assert last == steps
    assert 0 <= first < steps
    assert last - first == pytest.approx(0.2 * first, abs=1.1)


def test_patience_starts_a_cool_down(tmp_path: Path) -> None:
    observer = Silent()
    outcome = fit(
        training_in(tmp_path, validate=until(10), observer=observer, settings=WSD, validation=PATIENT)
    )
    assert outcome.status == "finished"
    assert outcome.progress.cooldown == (20, 30)
    assert outcome.progress.step == 30
    assert outcome.progress.ending.startswith("early stopping: loss has not improved on 2.9 (step 10)")
    assert len(set(rates(observer)[7:20])) == 1
    assert rates(observer)[20:] == sorted(rates(observer)[20:], reverse=True)


def test_without_patience_the_cool_down_ends_with_the_last_step(tmp_path: Path) -> None:
    outcome = fit(training_in(tmp_path, settings=WSD))
    assert outcome.progress.cooldown == (31, 47)
    assert outcome.progress.step == 47


def patient(folder: Path, observer: Silent | None = None) -> Training:
    return training_in(folder, validate=until(10), observer=observer, settings=WSD, validation=PATIENT)


@pytest.fixture(scope="module")
def whole_with_patience(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The content of the run folder of an undisturbed training with patience."""
    folder = tmp_path_factory.mktemp("patient") / "run"
    fit(patient(folder))
    return contents(folder)


@pytest.mark.parametrize("at", [4, 14, 20, 21, 25, 29])
def test_a_resume_with_patience_ends_with_the_same_bytes(
    tmp_path: Path, whole_with_patience: dict[str, object], at: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        fit(patient(tmp_path, StopsAt(at)))
    assert fit(patient(tmp_path)).progress.step == 30
    assert contents(tmp_path) == whole_with_patience


def test_a_share_of_all_updates_has_to_pass_as_well(tmp_path: Path) -> None:
    waiting = {**PATIENT, "patience_share": 0.6}
    outcome = fit(training_in(tmp_path, validate=until(10), settings=WSD, validation=waiting))
    assert outcome.progress.cooldown[0] == 25


def test_a_model_that_writes_nothing_right_yet_improves_with_its_loss(tmp_path: Path) -> None:
    def learning(model: nn.Module, step: int) -> Validation:
        return Validation({"loss": 1 / step, "bleu": 0.0})

    outcome = fit(
        training_in(tmp_path, validate=learning, settings=WSD, validation={"metric": "bleu", **PATIENT})
    )
    assert outcome.progress.best_step == 45


def test_a_lower_loss_counts_if_it_shall(tmp_path: Path) -> None:
    def validate(model: nn.Module, step: int) -> Validation:
        return Validation({"loss": 1 / min(step, 25), "wer": 50.0})

    for name, also, first in (("metric", False, 15), ("both", True, 35)):
        found: dict[str, object] = {"metric": "wer", "patience": 2, "patience_loss": also}
        settings = {**WSD, "steps": 97}
        outcome = fit(training_in(tmp_path / name, validate=validate, settings=settings, validation=found))
        assert outcome.progress.cooldown[0] == first


# --- time limits ------------------------------------------------------------------------------------


class Clock(Silent):
    """A clock that goes on by some seconds with every update."""

    def __init__(self, pace: float = 1.0, stop: int = 0) -> None:
        super().__init__()
        self.pace, self.now, self.stop = pace, 1000.0, stop

    def __call__(self) -> float:
        return self.now

    def on_step(self, step: int) -> None:
        self.now += self.pace
        if step == self.stop:
            raise KeyboardInterrupt


def limited(folder: Path, clock: Clock, minutes: float, **changed: object) -> Training:
    settings = {**WSD, "steps": 9973, "minutes": minutes, **changed}
    return training_in(folder, observer=clock, settings=settings, clock=clock)


def test_a_time_limit_is_used_up_and_not_exceeded(tmp_path: Path) -> None:
    clock = Clock()
    outcome = fit(limited(tmp_path, clock, 1.5))
    first, last = outcome.progress.cooldown
    assert last == outcome.progress.step
    assert last - first == round(0.5 * first)
    assert 80 <= clock.now - 1000 <= 90
    assert "cool-down within 1.5 minutes" in outcome.progress.ending


def test_a_machine_that_grows_slower_stops_in_time(tmp_path: Path) -> None:
    class Slower(Clock):
        def on_step(self, step: int) -> None:
            self.pace = 5.0 if step > 60 else 1.0
            super().on_step(step)

    clock = Slower()
    outcome = fit(limited(tmp_path, clock, 1.5))
    assert outcome.progress.stopped == "the time is up"
    assert clock.now - 1000 <= 95


def test_a_machine_that_grows_slower_shortens_the_cool_down(tmp_path: Path) -> None:
    class Slower(Clock):
        def on_step(self, step: int) -> None:
            self.pace = 2.0 if step > 300 else 1.0
            super().on_step(step)

    clock = Slower()
    outcome = fit(limited(tmp_path, clock, 7.5, log_every=1))
    first, last = outcome.progress.cooldown
    assert first < 300 < last == outcome.progress.step
    assert not outcome.progress.stopped
    assert 400 <= clock.now - 1000 <= 450
    assert rates(clock)[-1] < 0.05 * max(rates(clock))


def test_the_time_of_earlier_starts_counts(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        fit(limited(tmp_path, Clock(stop=40), 1.5))  # saved after 35
    clock = Clock()
    outcome = fit(limited(tmp_path, clock, 1.5))
    assert outcome.progress.step - 35 <= clock.now - 1000 <= 56


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The content of the run folder of an undisturbed training within a time limit."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    fit(limited(folder, Clock(), 1.5, save_minutes=1e-9))
    return contents(folder)


@pytest.mark.parametrize(
    "at", [pytest.param(at, marks=[pytest.mark.long] if at in (7, 70) else []) for at in (7, 40, 61, 70)]
)
def test_a_resume_with_a_time_limit_ends_with_the_same_bytes(
    tmp_path: Path, whole: dict[str, object], at: int
) -> None:
    # The limit is real time; what it decides is recorded, and decides the bytes.
    with pytest.raises(KeyboardInterrupt):
        fit(limited(tmp_path / "parts", Clock(stop=at), 1.5, save_minutes=1e-9))
    fit(limited(tmp_path / "parts", Clock(), 1.5, save_minutes=1e-9))
    assert contents(tmp_path / "parts") == whole


def test_too_short_a_time_for_a_validation_is_refused(tmp_path: Path) -> None:
    clock = Clock()
    training = limited(tmp_path, clock, 0.05)
    clock.now += 2.0  # preparation

    def slow(model: nn.Module, step: int) -> Validation:
        clock.now += 3.0
        return Validation({"loss": 1.0})

    training.plan = replace(training.plan, validate=slow)
    with pytest.raises(
        UserError, match=r"--minutes: 0\.05 minutes are too short: .* took 2 s.* takes about 3 s"
    ):
        fit(training)


# --- requests ---------------------------------------------------------------------------------------


def test_a_running_training_is_asked_to_end(tmp_path: Path) -> None:
    class Asks(Silent):
        def on_step(self, step: int) -> None:
            if step == 13:
                Run(tmp_path).ask_to_finish()

    outcome = fit(training_in(tmp_path, observer=Asks(), settings=WSD))
    assert outcome.progress.cooldown == (13, 19)
    assert (outcome.status, outcome.progress.step, outcome.progress.ending) == ("finished", 19, "as asked")
    assert not Run(tmp_path).finish_asked


def test_without_a_cool_down_it_ends_at_once(tmp_path: Path) -> None:
    class Asks(Silent):
        def on_step(self, step: int) -> None:
            if step == 13:
                Run(tmp_path).ask_to_finish()

    outcome = fit(training_in(tmp_path, observer=Asks(), settings={"average": 2}))
    assert (outcome.status, outcome.progress.step, outcome.progress.stopped) == ("finished", 13, "as asked")
    assert (tmp_path / "model.safetensors").is_file()


def test_a_cool_down_is_of_at_least_one_update() -> None:
    assert cooldown_after(1, OptimisationSettings(cooldown=0.01)) == Cooldown(1, 2)
