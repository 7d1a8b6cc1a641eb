"""No settings against the best of twelve hand-made ones: Multi30k de-en cut to several sizes, and CMUdict.

    python benchmarks/hand_made.py --data data --row multi30k-1000 --jobs 2
    python benchmarks/hand_made.py --data data --jobs 16    all rows, on a GPU

In each row twelve settings of a recipe are trained, the best is chosen by greedy validation (BLEU; exact
matches for CMUdict) and trained again with three new seeds; beside it stands `multihead train --src ...
--valid-src ...` with three seeds. The test set is read once, at the end. Every training has one thread, is
kept and resumed. Writes results/hand-made.json after each row.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping
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
SEEDS = (11, 12, 13)
"""Seeds that chose nothing."""
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A corpus and twelve settings of the recipe multi30k-de-en.

    Attributes:
        fixed: settings that all twelve have.
        grid: the values of the others; the feed-forward networks are twice as wide as the model.
        validation: metric that chooses among them.
        test: score that is compared.
    """

    fixed: Values
    grid: Mapping[str, tuple[Any, ...]]
    validation: str
    test: str


def captions(updates: int, batch_tokens: int) -> Case:
    """Return a case of image captions."""
    grid = {
        "tokenizer.vocab_size": (1000, 3000, 6000),
        "model.d_model": (128, 192),
        "model.dropout": (0.1, 0.3),
    }
    fixed = {"training.steps": updates, "training.batch_tokens": batch_tokens}
    return Case(fixed, grid, "bleu", "bleu")


CASES = {
    "multi30k-1000": captions(1500, 2048),
    "multi30k-3000": captions(2500, 2048),
    "multi30k-10000": captions(4000, 4096),
    "multi30k-29000": captions(4500, 4096),
    "cmudict": Case(
        {
            **{"tokenizer.kind": "chars", "tokenizer.dropout": 0.0, "validation.metric": "exact"},
            **{"training.steps": 12_000, "training.batch_tokens": 4096, "validation.every": 1000},
        },
        {"model.num_layers": (3, 4), "model.d_model": (128, 256), "model.dropout": (0.1, 0.2, 0.3)},
        "exact",
        "right_percent",
    ),
}


@dataclass
class Options:
    """Options of the benchmark."""

    data: Path
    """Folder with the corpora."""
    row: list[str] = field(default_factory=lambda: list(CASES))
    """Corpora to train on."""
    work: Path = Path("runs/hand-made")
    """Folder for the cut corpora and the runs."""
    jobs: int = 1
    """Trainings at a time."""


def main() -> None:
    """Measure the rows."""
    options = tyro.cli(Options, description=__doc__)
    found = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    for row in options.row:
        found[row] = measured(options, row)
        RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(json.dumps({key: value for key, value in found[row].items() if key != "sweep"}))


def measured(options: Options, row: str) -> dict[str, Any]:
    """Sweep, choose, train again, and compare on one corpus."""
    case, corpus = CASES[row], any_corpus.ROWS[row](options.data)
    folder = options.work / row
    for part in ("train", "valid"):
        any_corpus.write(folder / f"{part}.tsv", getattr(corpus, part))
    settings = [dict(zip(case.grid, values, strict=True)) for values in product(*case.grid.values())]
    with ThreadPoolExecutor(options.jobs) as pool:
        unaided = [pool.submit(trained, folder, f"unaided-{seed}", [], seed) for seed in SEEDS]
        swept = [pool.submit(by_hand, folder, case, one, 1) for one in settings]
        valid = [float(_end(each.result())["metrics"][case.validation]) for each in swept]
        best = settings[valid.index(max(valid))]
        again = [pool.submit(by_hand, folder, case, best, seed) for seed in SEEDS]
        runs = {"unaided": [each.result() for each in unaided], "by hand": [each.result() for each in again]}
    rows = {name: scores(folders, corpus.test, case.test) for name, folders in runs.items()}
    return {
        "command": f"python benchmarks/hand_made.py --row {row}",
        "fixed": case.fixed,
        "sweep": [
            {**one, f"validation {case.validation}": round(score, 3)}
            for one, score in zip(settings, valid, strict=True)
        ],
        "best": best,
        **rows,
        "difference": round(rows["unaided"]["mean"] - rows["by hand"]["mean"], 2),
        "environment": environment({}),
    }


def by_hand(folder: Path, case: Case, settings: Values, seed: int) -> Path:
    """Train one of the twelve."""
    given = {**settings, "model.d_ff": 2 * settings["model.d_model"], **case.fixed}
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


def _end(run: Path) -> dict[str, Any]:
    return [event for event in Run.open(run).metrics() if event.get("event") == "end"][-1]


def scores(runs: list[Path], test: any_corpus.Pairs, score: str) -> dict[str, Any]:
    """Test scores and updates of several runs."""
    found = [any_corpus.scored(run, test)[score] for run in runs]
    return {
        "score": score,
        "mean": round(statistics.mean(found), 2),
        "runs": found,
        "updates": [int(_end(run)["step"]) for run in runs],
    }


if __name__ == "__main__":
    main()
