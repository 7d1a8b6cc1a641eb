"""A writer is killed at any moment: the folder always opens, with a state that is whole and not lost."""

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import torch

from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.run.added_checksums import seal
from multihead.run.verify import verify
from multihead.system import disk
from multihead.text.tokenizer import Tokenizer

Make = Callable[[], Run]
Fork = Callable[[Callable[[], None]], int]
KILLS = 20


def train(run: Run, told: int) -> None:
    """Save without end, as training does; write the last step that was saved to ``told``."""
    state = run.load_state()
    begin = state[1]["step"] if state else 0
    run.truncate_after(begin)
    for step in count(begin + 1):
        run.log({"step": step})
        run.add_samples(step, f"sample of {step}")
        tensors = {"model.w": torch.full((97, 101), float(step)), "step": torch.tensor(step)}
        run.save_tensors("best", tensors, {"step": step})
        run.save_state(step, tensors, {"step": step})
        os.write(told, step.to_bytes(8, "little"))


def last_told(reader: int) -> int:
    content = b""
    while part := os.read(reader, 1 << 16):
        content += part
    return int.from_bytes(content[-8:], "little")


def check(folder: Path, at_least: int) -> int:
    """Open a run whose writer is dead; return the step it stands at."""
    with Run.open(folder).lock() as run:
        assert not list(folder.rglob("*.partial"))
        state = run.load_state()
        step = state[1]["step"] if state else 0
        assert step >= at_least, "a state that was saved is lost"
        if state:
            assert torch.equal(state[0]["model.w"], torch.full((97, 101), float(step)))
            assert run.load_tensors("best")[1]["step"] in (step, step + 1)
        run.truncate_after(step)
        assert [event["step"] for event in run.metrics()] == list(range(1, step + 1))
        samples = folder / "samples.txt"
        blocks = samples.read_text().split("\n\n")[:-1] if samples.exists() else []
        assert blocks == [f"# step {number}\n  sample of {number}" for number in range(1, step + 1)]
    return step


def test_a_training_killed_at_random_moments_goes_on_from_a_whole_state(make: Make, fork: Fork) -> None:
    folder, chance, step = make().folder, random.Random(7), 0
    for kill in range(KILLS):
        reader, writer = os.pipe()
        number = fork(lambda writer=writer: train(Run.open(folder).lock(), writer))  # type: ignore[misc]
        os.close(writer)
        if kill % 2:  # on a busy machine, too, some get past their start
            step = int.from_bytes(os.read(reader, 8), "little")
        time.sleep(chance.uniform(0.0, 0.05))
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        step = check(folder, max(step, last_told(reader)))
        os.close(reader)
    assert step >= KILLS // 2


def die_at(operation: int) -> Callable[[], None]:
    """Return what to call at each operation of the disk: it kills the process at this one."""
    numbers: Iterator[int] = count()

    def operate() -> None:
        if next(numbers) == operation:
            os.kill(os.getpid(), signal.SIGKILL)

    return operate


def watch(operate: Callable[[], None]) -> None:
    """Have ``operate`` called before each operation by which files come to be, get their names and go."""
    audited = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree"}
    sync = disk.sync

    def synced(path: Path) -> None:
        operate()
        sync(path)

    disk.sync = synced
    sys.addaudithook(lambda event, _: operate() if event in audited else None)


def killed_at(operation: int, work: Callable[[], None], fork: Fork) -> bool:
    """Run ``work`` in a child that dies at an operation; False if it had fewer of them."""

    def watched() -> None:
        watch(die_at(operation))
        work()

    _, status = os.waitpid(fork(watched), 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def test_saving_a_state_can_be_killed_at_each_operation(make: Make, fork: Fork) -> None:
    run = make()
    for step in (1, 2):
        run.save_state(step, {"w": torch.full((3,), float(step))}, {"step": step})
    new = {"w": torch.full((3,), 3.0)}
    seen = []
    for operation in count():
        killed = killed_at(operation, lambda: run.save_state(3, new, {"step": 3}), fork)
        with Run.open(run.folder).lock() as opened:
            state = opened.load_state()
            assert state is not None
            seen.append(state[1]["step"])
            assert torch.equal(state[0]["w"], torch.full((3,), float(seen[-1])))
            assert 1 <= len(opened.checkpoints()) <= 3
            if not killed:
                break
            opened.remove("state-0000000003")
            opened.save_state(1, {"w": torch.ones(3)}, {"step": 1})
    assert seen == sorted(seen)
    assert set(seen) == {2, 3}
    assert len(seen) > 5


def test_making_a_run_can_be_killed_at_each_operation(
    tmp_path: Path, fork: Fork, recipe: Recipe[Settings], tokenizer: Tokenizer
) -> None:
    operations = 0
    for operation in range(0, 1000, 7):
        folder = tmp_path / str(operation)

        def create(folder: Path = folder) -> None:
            Run.create(folder, recipe, (tokenizer, tokenizer), {"data": {}})

        killed = killed_at(operation, create, fork)
        if Run.exists(folder):
            Run.open(folder).lock().close()
        else:
            assert killed
            create()
        assert Run.open(folder).recipe == recipe
        if not killed:
            break
        operations += 1
    assert 5 < operations < 300


def test_replacing_the_recipe_can_be_killed_at_each_operation(
    make: Make, fork: Fork, recipe: Recipe[Settings]
) -> None:
    folder = make().folder
    longer = replace(recipe, training=recipe.training.model_copy(update={"steps": 9001}))
    seen = []
    for operation in count(step=5):
        killed = killed_at(operation, lambda: Run.open(folder).lock().write_recipe(longer), fork)
        seen.append(Run.open(folder).recipe.training.steps)  # while it is pending, too
        assert not any(row.damaged for row in verify(folder))
        with Run.open(folder).lock() as run:
            assert run.recipe.training.steps == seen[-1]
            assert not json.loads((folder / "manifest.json").read_text())["pending"]
            if not killed:
                break
            run.write_recipe(recipe)
    assert seen == sorted(seen)
    assert set(seen) == {recipe.training.steps, 9001}
    assert len(seen) > 5


def test_adding_checksums_can_be_killed_at_each_operation(tmp_path: Path, fork: Fork) -> None:
    old = Path(__file__).parents[1] / "fixtures" / "run-0.1.0"
    moments = 0
    for operation in range(0, 1000, 29):
        folder = Path(shutil.copytree(old, tmp_path / str(operation)))

        def add(folder: Path = folder) -> None:
            with Run.open(folder).lock() as run:
                seal(run)

        killed = killed_at(operation, add, fork)
        assert not any(row.damaged for row in verify(folder))
        Run.open(folder).load_model()
        Run.open(folder).load_state()
        add()
        assert {row.state for row in verify(folder)} == {"whole", "not covered"}
        if not killed:
            break
        moments += 1
    assert 3 < moments < 50


def test_a_lock_is_let_go_by_a_killed_process_and_held_by_a_living_one(make: Make, fork: Fork) -> None:
    folder = make().folder
    reader, writer = os.pipe()

    def hold() -> None:
        Run.open(folder).lock()
        os.write(writer, b"x")
        time.sleep(60)

    number = fork(hold)
    assert os.read(reader, 1) == b"x"
    with pytest.raises(UserError, match="another training is writing to this run"):
        Run.open(folder).lock()
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    Run.open(folder).lock().close()
    os.close(reader)
    os.close(writer)


def test_a_run_is_locked_while_it_is_open_for_writing_and_free_after_it(
    make: Make, tmp_path: Path, recipe: Recipe[Settings], tokenizer: Tokenizer
) -> None:
    with (
        Run.create(tmp_path / "new", recipe, (tokenizer, tokenizer), {}) as run,
        pytest.raises(UserError, match="another training"),
    ):
        Run.open(run.folder).lock()
    with Run.open(tmp_path / "new").lock():
        pass
    with pytest.raises(UserError, match="there is a run in this folder already"):
        Run.create(tmp_path / "new", recipe, (tokenizer, tokenizer), {})
    Run.open(tmp_path / "new").lock().close()
