"""Speed of training in two processes: gradients summed in order, by all_reduce, and in one process.

    python benchmarks/parallel_speed.py --out results/parallel-speed.json

trains the same model on the same made-up sentences in four ways, interleaved (A B C D A B C D): two
processes of a thread each with the ordered sum and with the fast one, one process of one thread, and one of
two threads, which is what a user would do instead. Prints target tokens a second, the median over the updates
of a training after the first few, and ratios within a round. Needs two idle cores.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from prepare_memory import write_corpus

from multihead.run.environment import environment

SIZES: dict[str, dict[str, object]] = {
    "small": {"d_model": 128, "d_ff": 256, "num_layers": 4, "num_heads": 4, "vocab": 6000, "tokens": 2048},
    "base": {"d_model": 512, "d_ff": 2048, "num_layers": 6, "num_heads": 8, "vocab": 30_000, "tokens": 1024},
}
WAYS: dict[str, tuple[int, int, str]] = {
    "two processes, ordered": (2, 1, "ordered"),
    "two processes, all_reduce": (2, 1, "fast"),
    "one process, one thread": (1, 1, "ordered"),
    "one process, two threads": (1, 2, "ordered"),
}
"""Processes, threads of each, and the sum of gradients."""
WARM = 4
"""Updates that are left out."""


@dataclass(frozen=True)
class Options:
    """The models, and how long they train."""

    sizes: tuple[str, ...] = ("small", "base")
    """small: 2 M parameters; base: 60 M."""
    updates: int = 24
    """Updates of each training."""
    rounds: int = 3
    """Trainings in each way."""
    pairs: int = 20_000
    """Sentence pairs to make up."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File for the results."""


def main(options: Options) -> None:
    """Train, print, write."""
    measured: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder, options.pairs)
        for size in options.sizes:
            rows: dict[str, list[float]] = {way: [] for way in WAYS}
            for _ in range(options.rounds):
                for way in WAYS:
                    rows[way].append(speed(folder, size, way, options.updates))
                    print(f"{size:6} {way:26} {rows[way][-1]:10,.0f} tokens/s", flush=True)
            measured[size] = told(rows)
            print(json.dumps(measured[size]["ordered"], indent=2), flush=True)
    if options.out:
        command = " ".join(["python", "benchmarks/parallel_speed.py", *sys.argv[1:]])
        content: dict[str, Any] = {"command": command, **environment(), "sizes": SIZES, "measured": measured}
        content.pop("data")
        options.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def told(rows: dict[str, list[float]]) -> dict[str, Any]:
    """Return the median speeds, and how many times as fast the ordered sum is, within each round."""
    first, *others = rows
    ratios = {
        other: [round(a / b, 3) for a, b in zip(rows[first], rows[other], strict=True)] for other in others
    }
    return {
        "tokens_per_second": {way: round(statistics.median(found)) for way, found in rows.items()},
        "ordered": {
            f"over {other}": {"median": statistics.median(found), "rounds": found}
            for other, found in ratios.items()
        },
    }


def speed(folder: Path, size: str, way: str, updates: int) -> float:
    """Train; return the median of the tokens a second of its updates."""
    processes, threads, reduction = WAYS[way]
    sizes = dict(SIZES[size])
    keys = {
        "tokenizer.vocab_size": sizes.pop("vocab"),
        "training.batch_tokens": sizes.pop("tokens"),
        **{f"model.{key}": value for key, value in sizes.items()},
        "training.accumulate": 2,
        "training.reduction": reduction,
        "training.threads": threads,
        "training.steps": updates,
        "training.log_every": 1,
        "validation.every": updates,
        "validation.max_examples": 2,
        "search.max_length": 2,
    }
    flags = [part for key, value in keys.items() for part in (f"--{key}", str(value))]
    run = Path(tempfile.mkdtemp(dir=folder)) / "run"
    files = ["--src", str(folder / "train.a"), "--tgt", str(folder / "train.b")]
    command = [sys.executable, "-m", "multihead", "train", *files, "--run", str(run), *flags]
    environ = {**os.environ, "OMP_NUM_THREADS": str(threads), "XDG_CACHE_HOME": str(folder / "cache")}
    several = ["--processes", str(processes)] if processes > 1 else []
    subprocess.run([*command, *several], env=environ, stdout=subprocess.DEVNULL, check=True)
    events = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    found = [event for event in events if event["event"] == "update"]
    pairs = zip(found[WARM - 1 :], found[WARM:], strict=False)
    return float(
        statistics.median((b["tokens"] - a["tokens"]) / (b["seconds"] - a["seconds"]) for a, b in pairs)
    )


if __name__ == "__main__":
    main(tyro.cli(Options))
