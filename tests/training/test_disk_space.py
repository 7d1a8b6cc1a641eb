"""A disk that is too small is found before the first update, with the sizes in the message."""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest
from backwards import fit, small_transformer, training_in

from multihead.errors import UserError
from multihead.recipe.settings import TrainingSettings
from multihead.training import disk_space as space

Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize("changed", [{}, {"ema": 0.9}, {"optimizer": "muon"}, {"average": 1}])
def test_a_training_takes_what_was_asked_for_and_no_less_than_half(
    tmp_path: Path, changed: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "MARGIN", 0)
    model = small_transformer(d_model=48, d_ff=211)
    training = training_in(tmp_path, model, settings=changed)
    most = 0

    def watch(step: int) -> None:
        nonlocal most
        most = max(most, space.bytes_taken(tmp_path))

    training.observer.on_step = watch  # type: ignore[method-assign]
    fit(training)
    needed = space.bytes_needed(model, training.settings)
    assert 0.5 * needed < max(most, space.bytes_taken(tmp_path)) <= needed


def test_too_little_room_is_an_error_with_both_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, settings = small_transformer(), TrainingSettings()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 0, 50_000_000))
    with pytest.raises(UserError) as caught:
        space.check(tmp_path / "run", model, settings)
    needed = space.megabytes(space.bytes_needed(model, settings))
    assert caught.value.fact == f"the checkpoints take up to {needed}, but 50 MB are free"
    assert caught.value.place == str(tmp_path / "run")


def test_what_a_resumed_run_holds_already_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, settings = small_transformer(), TrainingSettings()
    free = space.bytes_needed(model, settings) - 1000
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 0, free))
    with pytest.raises(UserError):
        space.check(tmp_path, model, settings)
    (tmp_path / "state").write_bytes(bytes(1000))
    space.check(tmp_path, model, settings)
