"""A large file translated in parts, by workers that are killed, against one plain translation.

    python benchmarks/million_lines.py --lines 1000000 --out results/million-lines.json

trains a tiny translator on generated sentences and translates `--lines` generated lines three times: plainly
(`multihead translate RUN -i F -o FILE`), in parts by one worker that nothing disturbs (`--part 1/1`, then
`--join`), and in parts by `--workers` workers, one of which is killed (SIGKILL) at a random moment and
started again, `--kills` times. Every line begins with its number, in letters, which the model copies as it
can: lines are unequal, so that a lost or doubled one is seen. Prints the seconds of each, the overhead of the
parts over the plain translation, and the lines that differ; the exit code is 1 if any does.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import tyro

from multihead.run.environment import environment

LETTERS = "abcdefghij"
WORDS = [a + b for a in "bdfgklmnprstvw" for b in ("a", "e", "i", "o", "u")]
KEYS = {
    "tokenizer.kind": "chars",
    "model.d_model": 32,
    "model.d_ff": 64,
    "model.num_heads": 4,
    "model.num_layers": 1,
    "training.batch_tokens": 2048,
    "training.threads": 1,
    "training.optimizer": "adam",
    "training.schedule": "inverse_sqrt",
    "training.warmup_steps": 50,
    "validation.max_examples": 20,
    "search.max_length": 40,
}


@dataclass(frozen=True)
class Options:
    """The size of the trial."""

    lines: int = 1_000_000
    """Lines to translate."""
    workers: int = 2
    """Workers at once in the disturbed translation."""
    kills: int = 20
    """Workers that are killed."""
    steps: int = 200
    """Updates of the translator."""
    seed: int = 1
    """Seeds the moments of the kills."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File for the results."""


def main(options: Options) -> int:
    """Translate, compare and print; return 1 if a line differs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lines(folder / "train.a", 5000, seed=2)
        sides = (folder / "train.a").read_text(encoding="utf-8")
        (folder / "train.b").write_text(sides.upper(), encoding="utf-8")
        write_lines(folder / "big", options.lines, seed=3)
        train(folder, options.steps)
        plain = timed(folder, "-o", "plain.out")
        parts = timed(folder, "-o", "calm", "--part", "1/1")
        joined = timed(folder, "-o", "calm", "--join", "calm.out")
        began = time.monotonic()
        killed = disturbed(folder, options, plain)
        join = timed(folder, "-o", "parts", "--join", "killed.out")
        seconds = time.monotonic() - began
        found = {
            "lines": options.lines,
            "workers": options.workers,
            "plain_seconds": round(plain, 1),
            "parts_seconds": round(parts, 1),
            "join_seconds": round(joined, 1),
            "parts_overhead": round((parts + joined) / plain - 1, 3),
            "killed": killed,
            "killed_seconds": round(seconds, 1),
            "killed_join_seconds": round(join, 1),
            "undisturbed": compared(folder / "plain.out", folder / "calm.out"),
            "disturbed": compared(folder / "plain.out", folder / "killed.out"),
        }
        print(json.dumps(found, indent=2))
    if options.out:
        command = " ".join(["python", "benchmarks/million_lines.py", *sys.argv[1:]])
        content: dict[str, Any] = {"command": command, **environment(), **found}
        content.pop("data")
        options.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return 0 if all(found[each]["identical"] for each in ("undisturbed", "disturbed")) else 1


def write_lines(path: Path, count: int, seed: int) -> None:
    """Write lines of two or three random words behind their number in letters."""
    chance = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            letters = "".join(LETTERS[int(digit)] for digit in str(number))
            file.write(f"{letters} {' '.join(chance.choices(WORDS, k=chance.randint(2, 3)))}\n")


def train(folder: Path, steps: int) -> None:
    """Train the translator."""
    given = {**KEYS, "training.steps": steps, "validation.every": steps}
    flags = [part for key, value in given.items() for part in (f"--{key}", str(value))]
    subprocess.run(
        [*command("train"), "--src", "train.a", "--tgt", "train.b", "--run", "run", *flags],
        cwd=folder,
        env=environ(folder),
        stdout=subprocess.DEVNULL,
        check=True,
    )


def command(name: str) -> list[str]:
    """Return the beginning of a command line."""
    return [sys.executable, "-m", "multihead", name]


def environ(folder: Path) -> dict[str, str]:
    """Return the environment of all commands: one thread each, and a cache of their own."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder / "cache")}


def started(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start a translation of the large file."""
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [*command("translate"), "run", "-i", "big", *arguments],
            cwd=folder,
            env=environ(folder),
            stdout=log,
            stderr=log,
        )


def timed(folder: Path, *arguments: str) -> float:
    """Run a translation of the large file; return its seconds."""
    began = time.monotonic()
    finish(folder, started(folder, *arguments))
    return time.monotonic() - began


def finish(folder: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait for a process. Raises ``SystemExit`` with the last lines of the log if it fails."""
    if process.wait():
        tail = (folder / "log").read_text(encoding="utf-8", errors="replace")[-2000:]
        raise SystemExit(f"exit code {process.returncode}\n{tail}")


def disturbed(folder: Path, options: Options, plain: float) -> dict[str, Any]:
    """Translate in parts, and kill; return how many kills there were, and the blocks finished at each."""
    chance = random.Random(options.seed)
    parts = [
        ("-o", "parts", "--part", f"{number}/{options.workers}") for number in range(1, options.workers + 1)
    ]
    workers = [started(folder, *part) for part in parts]
    blocks: list[int] = []
    try:
        while len(blocks) < options.kills:
            time.sleep(chance.uniform(0, 2 * plain / options.kills))
            alive = [number for number, worker in enumerate(workers) if worker.poll() is None]
            if not alive:
                break
            number = chance.choice(alive)
            workers[number].send_signal(signal.SIGKILL)
            if workers[number].wait() == -signal.SIGKILL:
                blocks.append(sum(1 for _ in (folder / "parts").glob("block-*.json")))
                workers[number] = started(folder, *parts[number])
        for worker in workers:
            finish(folder, worker)
    finally:
        for worker in workers:
            worker.kill()
    return {"kills": len(blocks), "blocks_at_each": blocks}


def compared(one: Path, other: Path) -> dict[str, Any]:
    """Compare two outputs: whole, and line by line."""
    with one.open("rb") as first, other.open("rb") as second:
        differing = sum(a != b for a, b in zip_longest(first, second))
    counts = [sum(1 for _ in path.open("rb")) for path in (one, other)]
    return {"identical": not differing, "differing_lines": differing, "missing_lines": counts[0] - counts[1]}


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Options)))
