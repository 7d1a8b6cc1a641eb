"""No settings against the best of twelve hand-made ones: Multi30k de-en cut to several sizes.

    python benchmarks/hand_made.py --data data --size 1000 --jobs 2
    python benchmarks/hand_made.py --data data --size 1000 3000 10000 29000 --jobs 16    on a GPU

At each size: twelve settings (vocabulary, width, dropout) of the recipe multi30k-de-en are trained, the best
is chosen by greedy BLEU on the validation set and trained again with three new seeds; beside it stands
`multihead train --src ... --valid-src ...` with three seeds. Test: test_2016_flickr, read once, at the end.
Every training has one thread, is kept and resumed. Writes results/hand-made.json after each size.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import any_corpus
import tyro

from multihead.run import Run
from multihead.run.environment import environment

RESULT = Path(__file__).parents[1] / "results" / "hand-made.json"
GRID = {
    "tokenizer.vocab_size": (1000, 3000, 6000),
    "model.d_model": (128, 192),
    "model.dropout": (0.1, 0.3),
}
UPDATES = {1_000: 1500, 3_000: 2500, 10_000: 4000, 29_000: 4500}
SEEDS = (11, 12, 13)
"""Seeds that chose nothing."""


@dataclass
class Options:
    """Options of the benchmark."""

    data: Path
    """Folder with the corpora."""
    size: list[int] = field(default_factory=lambda: list(UPDATES))
    """Pairs to train on."""
    work: Path = Path("runs/hand-made")
    """Folder for the cut corpora and the runs."""
    jobs: int = 1
    """Trainings at a time."""


def main() -> None:
    """Measure the sizes."""
    options = tyro.cli(Options, description=__doc__)
    found = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    for size in options.size:
        found[str(size)] = measured(options, size)
        RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(json.dumps({key: value for key, value in found[str(size)].items() if key != "sweep"}))


def measured(options: Options, size: int) -> dict[str, Any]:
    """Sweep, choose, train again, and compare at one size."""
    corpus = any_corpus.multi30k(options.data, size)
    folder = options.work / str(size)
    for part in ("train", "valid"):
        any_corpus.write(folder / f"{part}.tsv", getattr(corpus, part))
    settings = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    with ThreadPoolExecutor(options.jobs) as pool:
        unaided = [pool.submit(trained, folder, f"unaided-{seed}", [], seed) for seed in SEEDS]
        swept = [pool.submit(by_hand, folder, size, one, 1) for one in settings]
        valid = [validation(each.result()) for each in swept]
        best = settings[valid.index(max(valid))]
        again = [pool.submit(by_hand, folder, size, best, seed) for seed in SEEDS]
        runs = {"unaided": [each.result() for each in unaided], "by hand": [each.result() for each in again]}
    rows = {name: scores(folders, corpus.test) for name, folders in runs.items()}
    means = {name: row["bleu"]["mean"] for name, row in rows.items()}
    return {
        "command": f"python benchmarks/hand_made.py --size {size}",
        "sweep": [
            {**one, "validation bleu": round(score, 2)} for one, score in zip(settings, valid, strict=True)
        ],
        "best": best,
        **rows,
        "difference": round(means["unaided"] - means["by hand"], 2),
        "environment": environment({}),
    }


def by_hand(folder: Path, size: int, settings: dict[str, Any], seed: int) -> Path:
    """Train one of the twelve."""
    updates = UPDATES[size]
    given = {**settings, "model.d_ff": 2 * settings["model.d_model"], "training.steps": updates}
    given |= {"training.batch_tokens": 2048 if size <= 3_000 else 4096}
    name = "-".join(str(value) for value in settings.values()) + f"-seed-{seed}"
    words = [word for key, value in given.items() for word in (f"--{key}", str(value))]
    return trained(folder, name, ["multi30k-de-en", *words], seed)


def trained(folder: Path, name: str, given: Iterable[str], seed: int) -> Path:
    """Train a run unless it is finished, and return its folder."""
    run = folder / name
    command = [sys.executable, "-m", "multihead", "train", *given]
    command += ["--src", str(folder / "train.tsv"), "--valid-src", str(folder / "valid.tsv")]
    command += ["--training.seed", str(seed), "--training.threads", "1", "--run", str(run)]
    with (folder / f"{name}.log").open("w") as log:
        subprocess.run(command, check=True, stdout=log, stderr=log)
    return run


def validation(run: Path) -> float:
    """Greedy BLEU of a finished run on the validation set."""
    return float(_end(run)["metrics"]["bleu"])


def _end(run: Path) -> dict[str, Any]:
    return [event for event in Run.open(run).metrics() if event.get("event") == "end"][-1]


def scores(runs: list[Path], test: any_corpus.Pairs) -> dict[str, Any]:
    """Test scores and updates of several runs."""
    bleu = [any_corpus.scored(run, test)["bleu"] for run in runs]
    return {
        "bleu": {"mean": round(statistics.mean(bleu), 2), "runs": bleu},
        "updates": [int(_end(run)["step"]) for run in runs],
    }


if __name__ == "__main__":
    main()
