"""Runs that are training or were stopped: used as they are, and ended by the command line."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import Captured, fail, run

import multihead
from multihead.cli import main
from multihead.run import Run

ENDLESS = ["--training.schedule", "wsd", "--training.steps", "100000", "--validation.every", "6"]


@pytest.fixture(scope="module")
def killed(training: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose process was killed after its second validation."""
    folder = tmp_path_factory.mktemp("killed") / "run"
    command = [sys.executable, "-u", "-m", "multihead", *training, *ENDLESS, "--run", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        next(line for line in process.stdout if line.startswith("step 15/"))
        process.send_signal(signal.SIGKILL)
    return folder


def test_a_killed_run_translates_with_its_best_checkpoint_and_says_so(
    killed: Path,
) -> None:
    command = [sys.executable, "-m", "multihead", "translate", str(killed)]
    done = subprocess.run(command, input="eins zwei drei\n", capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    told, *_ = done.stderr.split("\n")
    assert told.startswith(
        f"{killed}: this training is not finished; using the best checkpoint so far (step "
    )


def test_it_is_evaluated_exported_and_loaded_alike(
    killed: Path, tmp_path: Path, capfdbinary: Captured, caplog: pytest.LogCaptureFixture
) -> None:
    out, _ = run(capfdbinary, "evaluate", killed, "--json")
    assert '"wer"' in out
    assert "exact match" in run(capfdbinary, "evaluate", killed)[0]
    assert multihead.load(killed).translate(["eins zwei"]) is not None
    if shutil.which("ct2-transformers-converter"):
        run(capfdbinary, "export", killed, "--to", "ctranslate2", "-o", tmp_path / "ct2")
    assert all("not finished; using the best checkpoint" in message for message in caplog.messages)
    assert caplog.messages


def test_without_a_validation_the_newest_state_is_used(
    killed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(killed, tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / "best.safetensors").unlink()
    best, newest = Run.open(killed).load_model(), Run.open(tmp_path / "run").load_model()
    assert {name: w.shape for name, w in best.state_dict().items()} == {
        name: w.shape for name, w in newest.state_dict().items()
    }
    assert "using the newest state, not validated yet (step 12)" in caplog.messages[-1]


def test_a_stopped_run_is_ended_with_a_cool_down(killed: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    shutil.copytree(killed, tmp_path / "run")
    out, _ = run(capfdbinary, "train", "--run", tmp_path / "run", "--finish")
    assert "finished after 14 steps (as asked)" in out
    assert (tmp_path / "run" / "model.safetensors").is_file()
    again, _ = run(capfdbinary, "train", "--run", tmp_path / "run", "--finish")
    assert "nothing left to do" in again


def test_a_running_training_is_ended_from_another_process(training: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, "-u", "-m", "multihead", *training, *ENDLESS, "--run", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        next(line for line in process.stdout if line.startswith("step 3/"))
        assert main(["train", "--run", str(folder), "--finish"]) == 0
        told, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert "(as asked)" in told


@pytest.mark.parametrize("minutes", ["0", "-3", "inf", "nan"])
def test_a_time_limit_has_to_be_a_number_of_minutes(
    training: list[str], minutes: str, capfdbinary: Captured
) -> None:
    assert "--minutes" in fail(capfdbinary, *training, f"--minutes={minutes}")


def test_too_short_a_time_is_refused_before_training(
    training: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    assert main([*training, "--minutes", "0.001", "--run", str(tmp_path / "run")]) == 2
    assert "0.001 minutes are too short" in capfdbinary.readouterr().err.decode()
    assert not list((tmp_path / "run" / "checkpoints").iterdir())


def test_a_training_ends_within_its_minutes(
    training: list[str], tmp_path: Path, capfdbinary: Captured
) -> None:
    without_steps = [word for word in training if word not in ("--training.steps", "12")]
    began = time.monotonic()
    out, _ = run(capfdbinary, *without_steps, "--minutes", "0.15", "--run", tmp_path / "run")
    # Patience may end it before the time does; the promise is the time.
    assert "finished after" in out
    assert time.monotonic() - began < 2 * 9


def test_finish_needs_a_run(capfdbinary: Captured, tmp_path: Path) -> None:
    assert "no run folder is named" in fail(capfdbinary, "train", "--finish")
    assert "no such run folder" in fail(capfdbinary, "train", "--finish", "--run", tmp_path / "none")


def test_the_reasons_are_printed_by_a_dry_run_and_written_into_the_recipe(
    corpus: tuple[Path, Path], tmp_path: Path, capfdbinary: Captured
) -> None:
    source, target = corpus
    files = ["--src", source, "--tgt", target, "--data.cache", tmp_path / "cache", "--training.threads", "1"]
    out, _ = run(capfdbinary, "train", *files, "--dry-run")
    assert 'tokenizer.kind = "spaced": symbols between spaces, of a closed set: 6 different ones' in out
    out, _ = run(
        capfdbinary,
        "train",
        *files,
        "--training.steps",
        "2",
        "--validation.every",
        "1",
        "--run",
        tmp_path / "r",
    )
    assert "(recipe.toml: 14 settings chosen for this corpus, and why)" in out
    assert "symbols between spaces" not in out
    comment = "# Chosen for this corpus: symbols between spaces, of a closed set: 6 different ones"
    written = (tmp_path / "r" / "recipe.toml").read_text(encoding="utf-8")
    assert comment in written
    assert "training.steps" not in Run.open(tmp_path / "r").recipe.reasons
    run(capfdbinary, "train", "--run", tmp_path / "r")
    assert (tmp_path / "r" / "recipe.toml").read_text(encoding="utf-8") == written
