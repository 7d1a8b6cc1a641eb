"""The script for Ray Train trains as one process does, and passes errors of the user on."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_killed_process import WORDS, command

from multihead.cli import main
from multihead.data.hashes import file_sha256

SCRIPT = Path(__file__).parents[2] / "examples" / "ray_train.py"


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(SCRIPT), "--workers", "2", "--", *arguments],
        env={**os.environ, "MULTIHEAD_JOIN_SECONDS": "60"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.skipif(not find_spec("ray"), reason="the extra [ray] is not installed")
def test_workers_of_ray_end_with_the_bytes_of_one_process(tmp_path: Path) -> None:
    lines = [" ".join(WORDS[(i * k) % 11] for k in range(1, 2 + i % 5)) for i in range(1, 212)]
    for name, side in (("train.de", lines), ("train.en", [line.upper() for line in lines])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    assert main(command(tmp_path, "one")) == 0
    several = run(*command(tmp_path, "two")[1:])
    assert several.returncode == 0, several.stderr
    one, two = (tmp_path / name / "model.safetensors" for name in ("one", "two"))
    assert file_sha256(one) == file_sha256(two)
    refused = run(*command(tmp_path, "three")[1:], "--training.accumulate", "1")
    assert refused.returncode == 2
    assert "2 processes, but an update has 1 batch" in refused.stdout + refused.stderr
