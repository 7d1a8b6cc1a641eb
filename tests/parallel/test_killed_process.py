"""`multihead train --processes 2`, of which one is killed: the same bytes as one process alone."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from multihead.cli import main
from multihead.data.hashes import file_sha256

WORDS = ["rot", "grün", "blau", "Hund", "Katze", "Haus", "Baum", "läuft", "sieht", "und", "nicht"]
SETTINGS = {
    "tokenizer.kind": "chars",
    "model.d_model": 14,
    "model.d_ff": 22,
    "model.num_heads": 2,
    "model.num_layers": 1,
    "training.steps": 29,
    "training.batch_tokens": 211,
    "training.accumulate": 3,
    "training.threads": 1,
    "training.precision": "fp32",
    "training.save_minutes": 1e-9,
    "validation.every": 13,
    "validation.max_examples": 5,
    "search.max_length": 7,
}


def command(folder: Path, name: str) -> list[str]:
    keys = [part for key, value in SETTINGS.items() for part in (f"--{key}", str(value))]
    files = ["--src", str(folder / "train.de"), "--tgt", str(folder / "train.en")]
    return ["train", *files, "--run", str(folder / name), *keys]


def children() -> list[int]:
    """Return the processes that this one started."""
    found = Path("/proc/self/task").glob("*/children")
    return [int(number) for threads in found for number in threads.read_text().split()]


def when(condition: Callable[[], bool], act: Callable[[], None]) -> threading.Thread:
    """Act once, as soon as a condition holds."""

    def watch() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if condition():
                act()
                return
            time.sleep(0.002)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the processes in /proc")
def test_a_killed_process_changes_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = [" ".join(WORDS[(i * k) % 11] for k in range(1, 2 + i % 5)) for i in range(1, 212)]
    (tmp_path / "train.de").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "train.en").write_text("".join(f"{line.upper()}\n" for line in lines), encoding="utf-8")
    assert main(command(tmp_path, "one")) == 0
    capfd.readouterr()
    before = set(children())
    watching = when(
        lambda: any((tmp_path / "two" / "checkpoints").glob("state-000000000[5-9].*")),
        lambda: os.kill(max(set(children()) - before), signal.SIGKILL),
    )
    assert main([*command(tmp_path, "two"), "--processes", "2"]) == 0
    watching.join()
    printed = capfd.readouterr()
    assert printed.err.count("was ended by SIGKILL; starting all again (1 of 3)") == 1
    assert printed.out.count("finished after 29 steps") == 1
    one, two = (tmp_path / name / "model.safetensors" for name in ("one", "two"))
    assert file_sha256(one) == file_sha256(two)
