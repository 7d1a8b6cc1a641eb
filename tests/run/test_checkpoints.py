"""Checkpoints and training states."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from multihead.errors import UserError
from multihead.run import Run

Make = Callable[[], Run]


def content(step: int) -> dict[str, torch.Tensor]:
    return {"model.w": torch.full((3, 5), float(step)), "adam.step": torch.tensor(step)}


def save(run: Run, *steps: int) -> None:
    for step in steps:
        run.save_state(step, content(step), {"step": step})


def states(run: Run) -> list[Path]:
    return sorted(run.checkpoint_folder.glob("state-*"))


def test_a_checkpoint_comes_back(make: Make) -> None:
    run = make()
    run.save_tensors("best", content(7), {"step": 7})
    tensors, meta = run.load_tensors("best")
    assert torch.equal(tensors["model.w"], content(7)["model.w"])
    assert meta == {"step": 7}


def test_checkpoints_are_listed_replaced_and_removed(make: Make) -> None:
    run = make()
    for name in ("best", "weights-7", "best"):
        run.save_tensors(name, content(7), {})
    assert run.checkpoints() == ["best", "weights-7"]
    run.remove("best")
    run.remove("best")
    assert run.checkpoints() == ["weights-7"]


def test_a_missing_checkpoint_is_said(make: Make) -> None:
    with pytest.raises(UserError, match=r"best\.safetensors: no such file"):
        make().load_tensors("best")


def test_before_the_first_state_there_is_none(make: Make) -> None:
    assert make().load_state() is None


def test_the_newest_state_is_gone_on_from_also_past_a_power_of_ten(make: Make) -> None:
    run = make()
    save(run, 9, 10, 99, 100)
    state = run.load_state()
    assert state is not None
    tensors, meta = state
    assert meta == {"step": 100}
    assert tensors["adam.step"] == 100


def test_two_states_are_kept_and_other_checkpoints_are_not_touched(make: Make) -> None:
    run = make()
    run.save_tensors("best", content(2), {})
    save(run, 2, 3, 5, 7)
    assert run.checkpoints() == ["best", "state-0000000005", "state-0000000007"]


def test_a_damaged_state_is_told_and_the_one_before_it_taken(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    run = make()
    save(run, 5, 7)
    newest = states(run)[-1]
    newest.write_bytes(newest.read_bytes()[:-1])
    with caplog.at_level(logging.WARNING):
        state = run.load_state()
    assert state is not None
    assert state[1] == {"step": 5}
    assert "state-0000000007.safetensors: damaged" in caplog.text
    assert "Resuming from state-0000000005" in caplog.text


def test_after_a_damaged_state_training_catches_up(make: Make) -> None:
    run = make()
    save(run, 5, 7)
    states(run)[-1].write_bytes(b"")
    save(run, 6)
    state = run.load_state()
    assert state is not None
    assert state[1] == {"step": 6}
    save(run, 7)
    state = run.load_state()
    assert state is not None
    assert state[1] == {"step": 7}


def test_nothing_but_damaged_states_is_an_error_with_a_remedy(make: Make) -> None:
    run = make()
    save(run, 5, 7)
    for state in states(run):
        state.write_bytes(b"")
    with pytest.raises(UserError, match=r"state-0000000007.*state-0000000005.*copy the checkpoints from a b"):
        run.load_state()
