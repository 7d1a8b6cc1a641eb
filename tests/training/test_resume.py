"""An interrupted and resumed run ends with the same bytes as an uninterrupted one."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from backwards import Silent, contents, fit, small_transformer, training_in
from torch import nn

from multihead.errors import UserError
from multihead.run import Run, files
from multihead.system import disk, hardware, native
from multihead.training import Training, Validation, state
from multihead.training.computation import computation

SETTINGS: dict[str, object] = {"ema": 0.9, "accumulate": 2}


@pytest.fixture
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


class StopsAt(Silent):
    """Interrupts training, as Ctrl-C does, when a step is logged."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def on_log(self, event: dict[str, Any]) -> None:
        if event["step"] == self.step:
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("threads", "precision", "optimizer"),
    [(1, "fp32", "adam"), (1, "bf16", "adam"), (2, "fp32", "adam"), (1, "bf16", "muon"), (2, "fp32", "muon")],
    indirect=["threads"],
)
def test_a_resumed_run_ends_as_an_uninterrupted_one(
    tmp_path: Path, threads: int, precision: str, optimizer: str
) -> None:
    def start(name: str, observer: Silent | None = None) -> Training:
        # Wide enough that matrix products are split between threads.
        model = small_transformer(d_ff=211)
        settings = {**SETTINGS, "batch_tokens": 401, "log_every": 1, "precision": precision}
        settings["optimizer"] = optimizer
        return training_in(tmp_path / name, model, observer=observer, settings=settings)

    fit(start("whole"))
    for step in (4, 10):
        stopped = fit(start("parts", StopsAt(step)))
        assert (stopped.status, stopped.progress.step) == ("interrupted", step)
    assert fit(start("parts")).status == "finished"
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


class StopsAfter(Silent):
    """Interrupts training after any update, also between two lines of metrics.jsonl."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def on_step(self, step: int) -> None:
        if step == self.step:
            signal.raise_signal(signal.SIGINT)


def test_a_log_line_across_an_interruption_covers_all_its_updates(tmp_path: Path) -> None:
    def start(name: str, observer: Silent | None = None) -> Training:
        return training_in(tmp_path / name, observer=observer, settings={**SETTINGS, "log_every": 3})

    fit(start("whole"))
    assert fit(start("parts", StopsAfter(5))).progress.step == 5
    fit(start("parts"))
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_another_seed_gives_other_bytes(tmp_path: Path) -> None:
    for seed in (1, 2):
        fit(training_in(tmp_path / str(seed), settings={"seed": seed}))
    one, other = contents(tmp_path / "1"), contents(tmp_path / "2")
    assert one["model.safetensors"] != other["model.safetensors"]


def test_steps_may_grow(tmp_path: Path) -> None:
    for schedule in ("inverse_sqrt", "cosine"):
        settings: dict[str, object] = {**SETTINGS, "schedule": schedule, "horizon": 30}
        fit(training_in(tmp_path / f"{schedule} whole", settings=settings))
        for steps in (10, 13, 20):
            fit(training_in(tmp_path / f"{schedule} grown", settings=settings | {"steps": steps}))
        whole, grown = contents(tmp_path / f"{schedule} whole"), contents(tmp_path / f"{schedule} grown")
        for found in (whole, grown):
            found["events"] = [e for e in found["events"] if e["step"] == 20]  # type: ignore[attr-defined]
        assert grown == whole


def test_steps_may_shrink(tmp_path: Path) -> None:
    for schedule in ("inverse_sqrt", "cosine"):
        settings: dict[str, object] = {**SETTINGS, "schedule": schedule, "horizon": 20, "log_every": 1}
        fit(training_in(tmp_path / f"{schedule} whole", settings=settings | {"steps": 9}))
        fit(training_in(tmp_path / f"{schedule} cut", observer=StopsAt(6), settings=settings | {"steps": 20}))
        fit(training_in(tmp_path / f"{schedule} cut", settings=settings | {"steps": 9}))
        whole, cut = contents(tmp_path / f"{schedule} whole"), contents(tmp_path / f"{schedule} cut")
        for found in (
            whole,
            cut,
        ):  # the state before the last differs: step 5, or the step of the interruption
            for key in [key for key in found if key.startswith(("state-0000000005", "state-0000000006"))]:
                del found[key]
        assert cut == whole


class Killed(BaseException):
    """Stands for a power failure."""


class Countdown:
    """Calls a function a number of times; then the power fails."""

    def __init__(self, function: Callable[..., None], times: float) -> None:
        self.function, self.times, self.calls = function, times, 0

    def __call__(self, *args: Any) -> None:
        self.calls += 1
        if self.calls > self.times:
            raise Killed
        self.function(*args)


def test_a_crash_while_saving_costs_nothing(tmp_path: Path) -> None:
    uncut = Countdown(disk.sync, float("inf"))
    with mock.patch.object(disk, "sync", uncut):
        fit(training_in(tmp_path / "whole", settings=SETTINGS))
    for moment in random.Random(1).sample(range(1, uncut.calls), 5):
        folder = tmp_path / str(moment)
        with mock.patch.object(disk, "sync", Countdown(disk.sync, moment)), pytest.raises(Killed):
            fit(training_in(folder, settings=SETTINGS))
        fit(training_in(folder, settings=SETTINGS))
        assert contents(folder) == contents(tmp_path / "whole")


def test_a_crash_while_old_checkpoints_are_removed_leaves_none_behind(tmp_path: Path) -> None:
    fit(training_in(tmp_path / "whole", settings=SETTINGS))
    folder = tmp_path / "cut"
    removed = Countdown(files.remove, 2)  # two states, but no weights
    with mock.patch.object(files, "remove", removed), pytest.raises(Killed):
        fit(training_in(folder, settings=SETTINGS))
    assert {"weights-0000000005", "state-0000000020"} <= set(Run(folder).checkpoints())
    fit(training_in(folder, settings=SETTINGS))
    assert contents(folder) == contents(tmp_path / "whole")


def test_a_crash_in_validation_costs_nothing(tmp_path: Path) -> None:
    whole = training_in(tmp_path / "whole", settings=SETTINGS)
    fit(whole)

    def crashing(model: nn.Module, step: int) -> Validation:
        if step == 15:
            raise RuntimeError("out of memory")
        return whole.plan.validate(model, step)

    with pytest.raises(RuntimeError, match="out of memory"):
        fit(training_in(tmp_path / "crashed", validate=crashing, settings=SETTINGS))
    fit(training_in(tmp_path / "crashed", settings=SETTINGS))
    assert contents(tmp_path / "crashed") == contents(tmp_path / "whole")


PROGRAM = """
import os, signal, sys
from pathlib import Path
from backwards import Silent, fit, training_in

class Dies(Silent):
    def on_log(self, event):
        if event["step"] == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

fit(training_in(Path(sys.argv[1]), observer=Dies(), settings={"log_every": 1}))
"""


def test_a_killed_process_costs_nothing(tmp_path: Path) -> None:
    places = [str(Path(__file__).parents[1] / "support"), os.environ.get("PYTHONPATH", "")]
    at = str(random.Random(1).randint(6, 19))
    killed = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "killed"), at],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    for name in ("whole", "killed"):
        fit(training_in(tmp_path / name, settings={"log_every": 1}))
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_other_kernels_than_before_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def start(level: str, observer: Silent | None = None) -> Training:
        monkeypatch.setattr("multihead.training.computation.native.level", lambda: level)
        return training_in(tmp_path, small_transformer(), observer=observer, settings={"log_every": 1})

    fit(start("avx2", StopsAt(4)))
    fit(start("avx2", StopsAt(6)))
    assert not caplog.records
    assert fit(start("")).status == "finished"
    (message,) = caplog.messages
    assert "other kernels before (avx2, now none). It resumes" in message


def test_int8_counts_as_other_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for now in (False, True):
        monkeypatch.setattr(hardware, "trains_in_int8", lambda *_, int8=now: int8)
        settings: dict[str, object] = {"steps": 20 + now, "log_every": 1}
        fit(training_in(tmp_path, small_transformer(), settings=settings))
    (message,) = caplog.messages
    assert (
        f"other kernels before ({native.level() or 'none'}, now {native.level() or 'none'}, int8)" in message
    )


@pytest.mark.parametrize(
    ("condition", "now", "change"),
    [
        ("threads", 3, "another number of threads before (1, now 3)"),
        ("torch", "2.99.0", f"another version of PyTorch before ({torch.__version__}, now 2.99.0)"),
        ("format", "bf16", "another precision before (fp32, now bf16)"),
        ("device", "A GPU", "another device before (cpu, now A GPU)"),
    ],
)
def test_changed_conditions_of_rounding_are_logged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    condition: str,
    now: object,
    change: str,
) -> None:
    fit(training_in(tmp_path))
    fit(training_in(tmp_path, settings={"steps": 21}))
    assert not caplog.records
    monkeypatch.setattr(state, "computation", lambda *given: computation(*given) | {condition: now})
    fit(training_in(tmp_path, settings={"steps": 22}))
    (message,) = caplog.messages
    assert change in message


@pytest.mark.parametrize(
    ("part", "how"),
    [("model.", "gone"), ("model.", "another"), ("ema.", "gone"), ("optimizer.exp_avg.", "another")],
)
def test_the_state_of_another_model_is_refused(tmp_path: Path, part: str, how: str) -> None:
    fit(training_in(tmp_path, settings={"ema": 0.5}))
    run = Run(tmp_path)
    for name in ("state-0000000015", "state-0000000020"):
        tensors, meta = run.load_tensors(name)
        key = next(key for key in tensors if key.startswith(part) and tensors[key].dim() == 2)
        changed = {other: value for other, value in tensors.items() if other != key}
        if how == "another":
            changed[key] = tensors[key][:-1].contiguous()
        run.save_tensors(name, changed, meta)
    with pytest.raises(UserError, match=r"not the state of this model: .* is (missing|\(\d+, \d+\)), not"):
        training_in(tmp_path, settings={"ema": 0.5})
