"""Every exit code that `multihead --help` and docs/explanation/reliability.md name, from real processes."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from multihead.cli import EXIT_CODES, main
from multihead.run import Run

ROOT = Path(__file__).parents[2]
RUN = [sys.executable, "-u", "-m", "multihead"]
LONG = ["--training.steps", "100000", "--validation.every", "90000"]


def test_help_and_documentation_name_the_same_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    helped = capsys.readouterr().out
    documented = (ROOT / "docs" / "explanation" / "reliability.md").read_text(encoding="utf-8")
    codes = [str(code) for code in EXIT_CODES]
    assert re.findall(r"^ +(\d+)  ", helped.partition("exit codes")[2], re.MULTILINE) == codes
    assert re.findall(r"^\| (\d+) \| ", documented, re.MULTILINE) == codes


def test_damage_that_was_found_exits_with_1(trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    with (folder / "recipe.toml").open("a") as file:
        file.write("#\n")
    assert main(["verify", str(folder)]) == 1
    assert main(["verify", str(trained)]) == 0
    assert main(["verify", str(tmp_path)]) == 2


def stopped_by(number: signal.Signals, command: list[str]) -> int:
    """Send a signal to a training that has begun; return its exit code."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        next(line for line in process.stdout if line.startswith("step 3/"))
        process.send_signal(number)
        out, errors = process.communicate(timeout=30)
    assert errors == ""
    assert "resume with the same command" in out
    return process.returncode


def test_a_terminated_training_is_saved_and_exits_with_143(training: list[str], tmp_path: Path) -> None:
    assert stopped_by(signal.SIGTERM, [*RUN, *training, *LONG, "--run", str(tmp_path)]) == 143
    assert Run(tmp_path).states()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_warning_of_a_scheduler_saves_and_queues_the_job_again(
    training: list[str], tmp_path: Path
) -> None:
    queue = tmp_path / "scontrol"
    queue.write_text(f'#!/bin/bash\necho "$@" > {tmp_path}/queued\n')
    queue.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "1017",
        "MULTIHEAD": " ".join(RUN),
    }
    script = ["bash", str(ROOT / "examples" / "slurm" / "train.sh")]
    command = [*script, *training[1:], *LONG, "--run", str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        next(line for line in process.stdout if line.startswith("step 3/"))
        process.send_signal(signal.SIGUSR1)
        process.communicate(timeout=30)
    assert process.returncode == 138
    assert (tmp_path / "queued").read_text() == "requeue 1017\n"
    assert Run(tmp_path / "run").states()


def test_a_job_that_failed_is_not_queued_again(tmp_path: Path) -> None:
    script = ["bash", str(ROOT / "examples" / "slurm" / "train.sh"), "--no-such-option"]
    environment = os.environ | {"MULTIHEAD": " ".join(RUN), "SLURM_JOB_ID": "1017"}
    done = subprocess.run(script, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert "scontrol" not in done.stderr
