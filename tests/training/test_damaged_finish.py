"""The last step of a training: the final weights are made of the checkpoints that are whole."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from backwards import fit, training_in

from multihead.errors import UserError
from multihead.run import Run, tensors
from multihead.training import Outcome, Training

SETTINGS: dict[str, object] = {"average": 3}


def finish(folder: Path, damage: Callable[[Path], object], **settings: object) -> Outcome:
    """Train to the last step but the choice of the final weights, damage a checkpoint, and choose."""
    training = training_in(folder, settings=SETTINGS | settings)

    class Damaging(Training):
        def _finish(self) -> Outcome:
            damage(folder / "checkpoints")
            return super()._finish()

    training.__class__ = Damaging
    return fit(training)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-7] ^= 64
    path.write_bytes(content)


def put_nan(path: Path) -> None:
    content, meta = tensors.load(path)
    next(iter(content.values())).fill_(float("nan"))
    tensors.save(path, content, meta)


def another_model(path: Path) -> None:
    tensors.save(path, {"embedding.weight": torch.ones(3, 5)}, tensors.load(path)[1])


HARMS: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "gone": Path.unlink,
    "NaN inside": put_nan,
    "another model's": another_model,
}


def end(folder: Path) -> dict[str, Any]:
    (found,) = [event for event in Run(folder).metrics() if event["event"] == "end"]
    return found


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("final", ["auto", "best"])
def test_a_damaged_best_is_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: str, final: str
) -> None:
    outcome = finish(tmp_path, lambda folder: HARMS[harm](folder / "best.safetensors"), final=final)
    assert outcome.status == "finished"
    assert outcome.weights == min(end(tmp_path)["candidates"], key=end(tmp_path)["candidates"].__getitem__)
    assert end(tmp_path)["damaged"] == ["best"]
    assert sorted(end(tmp_path)["candidates"]) == (["average", "last"] if final == "auto" else ["last"])
    (said,) = caplog.messages
    assert "best" in said
    assert said.endswith("The final weights are chosen without it.")
    assert not Run(tmp_path).model_fault()


@pytest.mark.parametrize("harm", HARMS)
def test_the_average_is_taken_over_the_checkpoints_that_are_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: str
) -> None:
    name = "weights-0000000015"
    finish(tmp_path, lambda folder: HARMS[harm](folder / f"{name}.safetensors"), final="average")
    assert end(tmp_path)["damaged"] == [name]
    ten, twenty = (Run(tmp_path).load_tensors(f"weights-00000000{step}")[0] for step in (10, 20))
    model, meta = tensors.load(tmp_path / "model.safetensors")
    assert meta["weights"] == "average"
    for weight in ten:
        torch.testing.assert_close(model[weight], (ten[weight] + twenty[weight]) / 2)
    assert name in caplog.text


def test_without_any_whole_checkpoint_the_last_weights_become_the_model(tmp_path: Path) -> None:
    def remove_all(folder: Path) -> None:
        for path in [*folder.glob("best*"), *folder.glob("weights-*")]:
            path.unlink()

    outcome = finish(tmp_path, remove_all)
    assert outcome.weights == "last"
    state = Run(tmp_path).load_tensors("state-0000000020")[0]
    model = tensors.load(tmp_path / "model.safetensors")[0]
    assert all(torch.equal(weight, state[f"model.{name}"]) for name, weight in model.items())


def test_where_nothing_is_damaged_nothing_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    finish(tmp_path, lambda folder: None)
    assert "damaged" not in end(tmp_path)
    assert not caplog.messages


@pytest.mark.parametrize("harm", [flip, Path.unlink])
def test_a_damaged_model_of_a_finished_training_is_written_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: Callable[[Path], object]
) -> None:
    fit(training_in(tmp_path, settings=SETTINGS))
    path, metrics = tmp_path / "model.safetensors", (tmp_path / "metrics.jsonl").read_bytes()
    whole = path.read_bytes()
    harm(path)
    with caplog.at_level(logging.WARNING):
        again = fit(training_in(tmp_path, settings=SETTINGS))
    assert again.status == "finished"
    assert path.read_bytes() == whole
    assert (tmp_path / "metrics.jsonl").read_bytes() == metrics
    assert "model.safetensors" in caplog.text


def test_a_best_of_another_step_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A copy of another checkpoint of the same run, whole in itself."""

    def swap(folder: Path) -> None:
        content, _ = tensors.load(folder / "weights-0000000015.safetensors")
        tensors.save(folder / "best.safetensors", content, {"step": 15})

    finish(tmp_path, swap)
    assert end(tmp_path)["damaged"] == ["best"]
    assert "made after step 15, but the best validation was at 20" in caplog.text


def test_a_trained_model_without_states_is_not_trained_over(tmp_path: Path) -> None:
    fit(training_in(tmp_path, settings=SETTINGS))
    model, metrics = (tmp_path / "model.safetensors").read_bytes(), (tmp_path / "metrics.jsonl").read_bytes()
    for path in (tmp_path / "checkpoints").iterdir():
        path.unlink()
    with pytest.raises(UserError, match="no training state to resume from"):
        training_in(tmp_path, settings=SETTINGS)
    assert (tmp_path / "model.safetensors").read_bytes() == model
    assert (tmp_path / "metrics.jsonl").read_bytes() == metrics
