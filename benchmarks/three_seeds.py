"""Quality from three seeds: each recipe trained three times, its figure with mean and range.

    python benchmarks/three_seeds.py --data data
    python benchmarks/three_seeds.py --data data --only multi30k-de-en-fast vit-digits

Seeds initialisation, batch order and dropout (``training.seed``); of `quickstart` also the corpus, which the
package generates. Writes results/three-seeds.json after every training. The same command resumes: a training
that was interrupted continues, one that is recorded is not repeated. One thread; no times are recorded, so
other programs may run.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from multihead.data.images.digits import NAMES, draw_digits
from multihead.data.images.listing import ArrayListing
from multihead.run import Run
from multihead.run.environment import environment
from multihead.tasks.images.image_classifier import ImageClassifier

SEEDS = (1, 2, 3)
RESULT = Path(__file__).parents[1] / "results" / "three-seeds.json"

Figures = dict[str, float]
"""Results of a trained run, by the figure's name."""


@dataclass(frozen=True)
class Row:
    """A recipe with the command that trains it and the figures taken from the run.

    Attributes:
        train: the words after ``multihead``; ``{run}``, ``{seed}`` and ``{data}`` are filled in.
        figures: takes them from the finished run.
        condition: what the figures are measured on.
    """

    train: str
    figures: Callable[[Path], Figures]
    condition: str


def scored(run: Path) -> Figures:
    """BLEU, chrF and the share of exact outputs, accuracy, or AP on each test set of the run's recipe."""
    sets = json.loads(_multihead("evaluate", str(run), "--json"))
    kept = ("bleu", "bleu_lowercase", "chrf", "exact", "accuracy", "AP", "AP50", "AP75")
    return {
        f"{name} {key}": value for name, found in sets.items() for key, value in found.items() if key in kept
    }


def validated(run: Path) -> Figures:
    """The metrics of the weights that the training chose, on its validation data."""
    end = [event for event in Run.open(run).metrics() if event["event"] == "end"][-1]
    return {key: round(value, 4) for key, value in end["metrics"].items()}


def digits(run: Path) -> Figures:
    """Validation accuracy, and accuracy on 2,000 digits drawn with another data seed."""
    pixels, numbers = draw_digits(2000, 2)
    drawn = ArrayListing(pixels, [NAMES[n] for n in numbers], "digits of another seed", numbered=False)
    measured = ImageClassifier.load(run).measure(drawn)
    return {
        "validation accuracy": validated(run)["accuracy"],
        "accuracy on 2,000 new digits": measured.accuracy,
    }


ROWS = {
    "quickstart": Row(
        "quickstart --run {run} --data.dir {run}-data",
        scored,
        "1,000 numbers never seen in training; the corpus is generated anew from each seed",
    ),
    "multi30k-de-en-fast": Row(
        "train multi30k-de-en-fast --data.dir {data}/multi30k --run {run}",
        scored,
        "the recipe's three test sets",
    ),
    "shakespeare-char-cpu": Row(
        "train shakespeare-char-cpu --data.dir {data}/tinyshakespeare --run {run}",
        validated,
        "the last 10 % of the text, whole",
    ),
    **{
        f"shakespeare-{kind}": Row(
            f"train shakespeare-{kind} --data.dir {{data}}/tinyshakespeare --run {{run}}",
            validated,
            "the last 10 % of the text, whole",
        )
        for kind in ("llama", "mixtral")
    },
    **{
        name: Row(
            f"train {name} --data.dir {{data}}/fashion-mnist --run {{run}}",
            scored,
            "each of the 10,000 test images as the odd one of ten",
        )
        for name in ("odd-one-out", "odd-one-out-mean")
    },
    **{
        f"{name}, 10 minutes": Row(
            f"train {name} --minutes 10 --run {{run}}",
            scored,
            "1,000 generated scenes; minutes of one thread, the two alternating, another training beside",
        )
        for name in ("detr-shapes", "conv-detector-shapes")
    },
    "vit-digits": Row("train vit-digits --run {run}", digits, "generated digits"),
    "multi30k-de-en": Row(
        "train multi30k-de-en --data.dir {data}/multi30k --run {run}", scored, "the recipe's three test sets"
    ),
    "multi30k-en-fr": Row(
        "train multi30k-en-fr --data.dir {data}/multi30k --run {run}", scored, "the recipe's three test sets"
    ),
}

MINUTES = (
    "quickstart",
    "multi30k-de-en-fast",
    "shakespeare-char-cpu",
    "shakespeare-llama",
    "shakespeare-mixtral",
    "odd-one-out",
    "odd-one-out-mean",
    "vit-digits",
)
"""Recipes that take minutes."""


def main(
    data: Path = Path("data"),
    only: tuple[str, ...] = MINUTES,
    keep: Path = Path("runs/three-seeds"),
    out: Path = RESULT,
) -> None:
    """Train, measure and write.

    Args:
        data: folder with a folder for each corpus, as `multihead data get` makes them.
        only: recipes, in this order.
        keep: folder of the runs.
        out: file of the result; what it holds already is kept.
    """
    told: dict[str, Any] = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    for name in only:
        row = ROWS[name]
        command = f"multihead {row.train} --training.seed {{seed}} --training.threads 1"
        fresh = {"command": command.replace("{data}", "data"), "condition": row.condition, "seeds": {}}
        recorded = told.setdefault(name, fresh)
        for seed in SEEDS:
            if str(seed) in recorded["seeds"]:
                continue
            run = keep / f"{name}-{seed}"
            _multihead(*(word.format(run=run, data=data, seed=seed) for word in command.split()[1:]))
            recorded["seeds"][str(seed)] = row.figures(run)
            recorded["figures"] = summary(recorded["seeds"].values())
            recorded["environment"] = environment({})
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
            print(name, seed, recorded["seeds"][str(seed)], flush=True)


def summary(seeds: Any) -> dict[str, dict[str, float]]:
    """Mean, lowest and highest of each figure over the seeds measured so far."""
    by_name: dict[str, list[float]] = {}
    for figures in seeds:
        for name, value in figures.items():
            by_name.setdefault(name, []).append(value)
    return {
        name: {"mean": round(statistics.mean(values), 4), "lowest": min(values), "highest": max(values)}
        for name, values in by_name.items()
    }


def _multihead(*arguments: str) -> str:
    command = [sys.executable, "-m", "multihead", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    tyro.cli(main)
