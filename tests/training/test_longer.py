"""A training that has ended is made longer: from before its cool-down, as if it had been planned so."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from backwards import Silent, contents, fit, training_in
from torch import nn

from multihead.errors import UserError
from multihead.recipe.settings import OptimisationSettings
from multihead.run import Run, tensors
from multihead.run.names import WEIGHTS
from multihead.training import Training, Validation
from multihead.training.extension import EARLIER, go_back

WSD: dict[str, object] = {"schedule": "wsd", "steps": 47, "log_every": 1, "cooldown": 0.5}
PATIENT: dict[str, object] = {"patience": 2}


def until(best: int) -> Callable[[nn.Module, int], Validation]:
    """A validation that improves until a step, and never after it."""
    return lambda model, step: Validation({"loss": 3.0 - min(step, best) / 100})


def settings(**changed: object) -> OptimisationSettings:
    return OptimisationSettings.model_validate({**WSD, **changed})


def gone_back(folder: Path, before: OptimisationSettings, now: OptimisationSettings) -> bool:
    with Run(folder).lock() as run:
        return go_back(run, before, now)


def lengthened(folder: Path, *, steps: int = 97, observer: Silent | None = None) -> Training:
    """Make a run of 47 steps longer."""
    assert gone_back(folder, settings(), settings(steps=steps))
    return training_in(folder, observer=observer, settings={**WSD, "steps": steps}, longer=True)


@pytest.fixture(scope="module")
def ended_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that has made its 47 updates."""
    folder = tmp_path_factory.mktemp("ended") / "run"
    fit(training_in(folder, settings=WSD))
    return folder


@pytest.fixture
def ended(ended_once: Path, tmp_path: Path) -> Path:
    """A copy of a run that has made its 47 updates."""
    return shutil.copytree(ended_once, tmp_path / "ended")


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was planned with 97 updates."""
    folder = tmp_path_factory.mktemp("planned") / "run"
    fit(training_in(folder, settings={**WSD, "steps": 97}))
    return folder


def state(folder: Path, step: int) -> dict[str, bytes]:
    found, _ = Run(folder).load_tensors(f"state-{step:010}")
    return {name: tensor.numpy().tobytes() for name, tensor in found.items()}


def test_a_longer_training_is_the_one_that_was_planned_longer(ended: Path, planned: Path) -> None:
    observer = Silent()
    outcome = fit(lengthened(ended, observer=observer))
    assert outcome.progress.step == 97
    assert observer.updates[0]["step"] == 32
    assert state(ended, 97) == state(planned, 97)
    longer, uninterrupted = (contents(folder)["events"] for folder in (ended, planned))
    assert isinstance(longer, list)
    assert isinstance(uninterrupted, list)
    first_end = next(e for e in longer if e["event"] == "ending")
    assert (first_end["step"], first_end["why"]) == (31, "training.steps 47")
    again = [event for event in longer if event != first_end]
    assert [e for e in again if e["event"] != "end"] == [e for e in uninterrupted if e["event"] != "end"]


@pytest.mark.parametrize("last", [33, 40, 46])
def test_a_training_that_is_cooling_down_is_made_longer_too(tmp_path: Path, planned: Path, last: int) -> None:
    class Stops(Silent):
        def on_step(self, step: int) -> None:
            if step == last:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(training_in(tmp_path / "longer", observer=Stops(), settings=WSD))
    fit(lengthened(tmp_path / "longer"))
    assert state(tmp_path / "longer", 97) == state(planned, 97)


def test_patience_counts_anew(tmp_path: Path) -> None:
    fit(training_in(tmp_path, validate=until(10), settings=WSD, validation=PATIENT))
    assert gone_back(tmp_path, settings(), settings())
    outcome = fit(training_in(tmp_path, validate=until(32), settings=WSD, validation=PATIENT, longer=True))
    assert outcome.progress.cooldown == (31, 47)
    assert outcome.progress.best_step == 35


def test_the_earlier_model_is_used_until_the_end_and_kept_if_it_is_better(ended: Path) -> None:
    before = (ended / WEIGHTS).read_bytes()
    selected = tensors.load(ended / WEIGHTS)[0]
    assert gone_back(ended, settings(), settings(steps=97))
    assert (ended / WEIGHTS).read_bytes() == before

    def worse_later(model: nn.Module, step: int) -> Validation:
        same = all(bool((selected[name] == weight).all()) for name, weight in model.state_dict().items())
        return Validation({"loss": 1.0 if same else 2.0})

    longer = training_in(ended, validate=worse_later, settings={**WSD, "steps": 97}, longer=True)
    outcome = fit(longer)
    assert outcome.weights == "earlier"
    assert outcome.metrics == {"loss": 1.0}
    found, meta = tensors.load(ended / WEIGHTS)
    assert meta["weights"] == "earlier"
    assert all(bool((found[name] == selected[name]).all()) for name in selected)
    assert EARLIER not in Run(ended).checkpoints()


def test_killed_before_it_has_begun_the_run_ends_as_it_did(ended_once: Path, ended: Path) -> None:
    assert gone_back(ended, settings(), settings(steps=97))
    fit(training_in(ended, settings=WSD))
    assert state(ended, 47) == state(ended_once, 47)
    assert (ended / WEIGHTS).exists()


def test_saved_once_it_needs_no_word_to_go_on(ended: Path, planned: Path) -> None:
    training = lengthened(ended)
    with training.run:
        training.save()
    assert fit(training_in(ended, settings={**WSD, "steps": 97})).progress.step == 97
    assert state(ended, 97) == state(planned, 97)


def test_the_state_before_the_cool_down_is_kept_and_no_other(tmp_path: Path) -> None:
    fit(training_in(tmp_path, settings={**WSD, "save_minutes": 1e-9}))
    assert Run(tmp_path).states() == [f"state-{step:010}" for step in (31, 46, 47)]
    fit(lengthened(tmp_path))
    assert f"state-{31:010}" not in Run(tmp_path).states()


def test_a_training_without_an_end_to_take_back_only_goes_on(tmp_path: Path) -> None:
    steady = {"schedule": "constant", "steps": 20}
    fit(training_in(tmp_path, settings=steady))
    before = contents(tmp_path)
    assert not gone_back(tmp_path, settings(**steady), settings(**steady | {"steps": 31}))
    assert contents(tmp_path) == before
    assert fit(training_in(tmp_path, settings={**steady, "steps": 31})).progress.step == 31


def test_early_stopping_without_a_cool_down_is_taken_back(tmp_path: Path) -> None:
    steady: dict[str, object] = {"schedule": "constant", "steps": 40}
    outcome = fit(training_in(tmp_path, validate=until(10), settings=steady, validation=PATIENT))
    assert outcome.progress.stopped
    assert gone_back(tmp_path, settings(**steady), settings(**steady))
    longer = training_in(tmp_path, validate=until(40), settings=steady, validation=PATIENT, longer=True)
    assert fit(longer).progress.step == 40


@pytest.mark.parametrize(
    ("ends", "now", "told"),
    [
        ({}, {}, "it has made all 47 updates. Give more: --training.steps N"),
        ({"minutes": 1.0}, {"minutes": 1.0}, "it has taken its 1 minutes. Give more: --minutes N"),
    ],
)
def test_it_would_end_where_it_has_ended(
    tmp_path: Path, ends: dict[str, object], now: dict[str, object], told: str
) -> None:
    seconds = iter(range(1000, 9000))
    fit(training_in(tmp_path, settings={**WSD, **ends}, clock=lambda: float(next(seconds))))
    before = contents(tmp_path)
    with pytest.raises(UserError, match=told):
        gone_back(tmp_path, settings(**ends), settings(**now))
    assert contents(tmp_path) == before


def test_fewer_steps_than_were_made_take_nothing_back(ended: Path) -> None:
    before = contents(ended)
    assert not gone_back(ended, settings(), settings(steps=41))
    assert contents(ended) == before


def test_more_time_makes_it_longer(tmp_path: Path) -> None:
    def clock() -> Callable[[], float]:
        seconds = iter(range(1000, 9000))
        return lambda: float(next(seconds))

    timed = {**WSD, "minutes": 1.0, "steps": 997}
    first = fit(training_in(tmp_path, settings=timed, clock=clock())).progress
    assert first.ending.startswith("time for a cool-down within 1 minutes")
    more = {**timed, "minutes": 3.0}
    assert gone_back(tmp_path, settings(**timed), settings(**more))
    then = fit(training_in(tmp_path, settings=more, clock=clock(), longer=True)).progress
    assert then.ending.startswith("time for a cool-down within 3 minutes")
    assert then.step > 1.5 * first.step


@pytest.mark.parametrize("fault", ["missing", "damaged"])
def test_without_the_state_before_the_cool_down_nothing_changes(ended: Path, fault: str) -> None:
    path = Run(ended).path_of(f"state-{31:010}")
    if fault == "missing":
        path.unlink()
    else:
        content = bytearray(path.read_bytes())
        content[-100] ^= 1
        path.write_bytes(content)
    before = contents(ended) if fault == "missing" else {}
    with pytest.raises(
        UserError, match="not there.*--init RUN" if fault == "missing" else "damaged|checksum"
    ):
        gone_back(ended, settings(), settings(steps=97))
    if before:
        assert contents(ended) == before
    assert (ended / WEIGHTS).exists()
    assert len(Run(ended).states()) >= 2
