"""One checkpoint from any number of processes, also if some of them are killed.

    python benchmarks/same_bytes.py --kills 20 --out results/same-bytes.json

trains a small translator on generated sentences with `multihead train --processes N`, one thread a process,
and compares the SHA-256 of model.safetensors: for each precision and number of shards from all numbers of
processes, and from trainings of which a random process is killed at a random moment. A kill counts if the
process was there to be killed; the training must end with exit code 0 and the same SHA-256.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from multihead.run.environment import environment
from multihead.system import native

WORDS = [
    "rot",
    "grün",
    "blau",
    "klein",
    "groß",
    "Hund",
    "Katze",
    "Haus",
    "Baum",
    "läuft",
    "sieht",
    "und",
    "nicht",
]
KEYS = {
    "tokenizer.kind": "chars",
    "model.d_model": 32,
    "model.d_ff": 64,
    "model.num_heads": 4,
    "model.num_layers": 2,
    "training.batch_tokens": 523,
    "training.threads": 1,
    "training.save_minutes": 0.01,
    "validation.max_examples": 11,
    "search.max_length": 9,
}


@dataclass(frozen=True)
class Options:
    """The processes, precisions and kills to compare."""

    processes: tuple[int, ...] = (1, 2, 3, 4)
    """Numbers of processes."""
    shards: tuple[int, ...] = (4, 6)
    """training.accumulate."""
    precisions: tuple[str, ...] = ("fp32", "bf16", "int8")
    """training.precision."""
    steps: int = 60
    """Updates of each training."""
    kills: int = 20
    """Trainings of 2 processes of which one is killed, for the first precision and number of shards."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File for the results."""


def main(options: Options) -> int:
    """Train, compare, print one table; return 1 if any SHA-256 differs."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder)
        for precision in options.precisions:
            if precision == "int8" and not native.level():
                continue
            for shards in options.shards:
                row: dict[str, Any] = {"precision": precision, "shards": shards}
                keys = {"training.precision": precision, "training.accumulate": shards}
                found = {
                    n: sha_of(folder, n, options.steps, keys)[0] for n in options.processes if n <= shards
                }
                row |= {"processes": [*found], "sha256": sorted(set(found.values())), "kills": 0}
                if options.kills and not rows:
                    killed = [killed_sha(folder, options.steps, keys, seed) for seed in range(options.kills)]
                    row["kills"] = sum(was for _, was in killed)
                    row["sha256"] = sorted({*row["sha256"], *(sha for sha, _ in killed)})
                row["same"] = len(row["sha256"]) == 1
                rows.append(row)
                print_row(row)
    command = shlex_join(sys.argv)
    if options.out:
        content = {"command": command, **environment(), "steps": options.steps, "rows": rows}
        content.pop("data")
        options.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return 0 if all(row["same"] for row in rows) else 1


def shlex_join(arguments: list[str]) -> str:
    """Return the command that was typed."""
    return " ".join(["python", "benchmarks/same_bytes.py", *arguments[1:]])


def print_row(row: dict[str, Any]) -> None:
    """Print a row of the table."""
    same = "one SHA-256" if row["same"] else f"{len(row['sha256'])} different"
    which = ", ".join(map(str, row["processes"]))
    print(
        f"{row['precision']:5} {row['shards']} shards, {which} processes, {row['kills']} kills: {same}",
        flush=True,
    )


def write_corpus(folder: Path) -> None:
    """Write train.de and train.en: 997 sentences, and their words reversed in capitals."""
    chance = random.Random(7)
    lines = [" ".join(chance.choices(WORDS, k=chance.randint(2, 7))) for _ in range(997)]
    backwards = [" ".join(reversed(line.upper().split())) for line in lines]
    for name, side in (("train.de", lines), ("train.en", backwards)):
        (folder / name).write_text("".join(f"{line}\n" for line in side), encoding="utf-8")


def started(
    folder: Path, run: Path, processes: int, steps: int, keys: dict[str, Any]
) -> "subprocess.Popen[bytes]":
    """Start a training."""
    given = {**KEYS, **keys, "training.steps": steps, "validation.every": max(1, steps // 3)}
    flags = [part for key, value in given.items() for part in (f"--{key}", str(value))]
    files = ["--src", str(folder / "train.de"), "--tgt", str(folder / "train.en")]
    command = [sys.executable, "-m", "multihead", "train", *files, "--run", str(run), *flags]
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.Popen(
        [*command, "--processes", str(processes)],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def sha_of(folder: Path, processes: int, steps: int, keys: dict[str, Any]) -> tuple[str, float]:
    """Return the SHA-256 of the model of a training, and its seconds."""
    run, began = Path(tempfile.mkdtemp(dir=folder)) / "run", time.monotonic()
    process = started(folder, run, processes, steps, keys)
    return ended(process, run), time.monotonic() - began


def ended(process: "subprocess.Popen[bytes]", run: Path) -> str:
    """Return the SHA-256 of the model once a training has ended; its exit code if it failed."""
    _, errors = process.communicate()
    if process.returncode:
        return f"exit code {process.returncode}: {errors.decode()[-300:]}"
    return hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()


def killed_sha(folder: Path, steps: int, keys: dict[str, Any], seed: int) -> tuple[str, bool]:
    """Return the SHA-256 of a training of which a process is killed, and whether one was there."""
    chance = random.Random(seed)
    run = Path(tempfile.mkdtemp(dir=folder)) / "run"
    process = started(folder, run, 2, steps, keys)
    checkpoints, until = run / "checkpoints", time.monotonic() + 120
    # Every other kill comes during the updates, the others at any moment after the start.
    while seed % 2 and not list(checkpoints.glob("state-*")) and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(chance.uniform(0, 1) if seed % 2 else chance.uniform(0, 15))
    found = [int(child) for child in children(process.pid)]
    if found:
        os.kill(chance.choice(found), signal.SIGKILL)
    return ended(process, run), bool(found)


def children(pid: int) -> list[str]:
    """Return the child processes of a process."""
    found: list[str] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        found += file.read_text().split()
    return found


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Options)))
