"""Quality with and without the fast kernels: one recipe, trained to its end in four ways.

    python benchmarks/same_quality.py --recipe multi30k-de-en-fast --data-dir data/multi30k

trains with plain PyTorch in fp32 (the equations as they stand), with the native kernels in the format that
they choose here (int8, bf16) and their sampled gradient, with the same but the whole gradient, and sampled
again from another seed; the distance between two seeds is the noise level. Reports the largest and the mean
distance of training losses (means of a window of updates), BLEU on the recipe's test sets with its confidence
interval, and the paired bootstrap's p against the first. Runs found in `--keep` are not trained again. On one
core of a laptop it takes about 50 minutes.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import tyro

import multihead
from multihead.recipe.settings import TrainingSettings
from multihead.run.environment import environment
from multihead.system import hardware, native

WINDOW = 200
"""Updates in a mean of losses: enough that chance in a batch is small."""
SCORES = ("perplexity", "perplexity_character", "bleu", "bleu_lowercase", "chrf")


@dataclass(frozen=True)
class Way:
    """A way to compute the same training."""

    name: str
    precision: str
    level: str
    seed: int = 1
    grain: float = TrainingSettings.model_fields["gradient_grain"].default


def ways() -> tuple[Way, ...]:
    """Return the first, which the others are compared with, and those."""
    best = native.level()
    fast = hardware.training_precision("auto", torch.device("cpu"))
    return (
        Way("plain-fp32", "fp32", ""),
        Way(f"native-{fast}", fast, best),
        Way(f"native-{fast}-whole", fast, best, grain=0.0),
        Way(f"native-{fast}-seed-2", fast, best, seed=2),
    )


def main(
    recipe: str = "multi30k-de-en-fast",
    data_dir: Path = Path("data/multi30k"),
    keep: Path = Path("runs/same-quality"),
    threads: int = 0,
    steps: int | None = None,
    out: Path = Path("results/same-quality.json"),
) -> None:
    """Train, measure, print."""
    all_ways = ways()
    for way in all_ways:
        settings: dict[str, object] = {
            "data.dir": str(data_dir),
            "training.precision": way.precision,
            "training.seed": way.seed,
            "training.gradient_grain": way.grain,
            "training.threads": threads,
        }
        if steps:
            settings["training.steps"] = steps
        with native.use(way.level):
            multihead.train(recipe, run=keep / way.name, settings=settings)
    numbers = multihead.compare(*(keep / way.name for way in all_ways)).numbers
    curves = {way.name: losses(keep / way.name / "metrics.jsonl") for way in all_ways}
    first, second, third, last = (way.name for way in all_ways)
    result = {
        "recipe": recipe,
        "updates_in_a_window": WINDOW,
        "losses": curves,
        f"{second} from {first}": distance(curves[second], curves[first]),
        f"{second} from {third}": distance(curves[second], curves[third]),
        f"{last} from {second}, the noise": distance(curves[last], curves[second]),
        "scores": {
            test: {
                Path(run).name: {score: found[score] for score in SCORES}
                for run, found in measured["scores"].items()
            }
            for test, measured in numbers["tests"].items()
        },
        "environment": environment({}),
    }
    print(json.dumps(result, indent=2))
    out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def losses(metrics: Path) -> dict[str, float]:
    """Return the mean training loss of each window, by its last update."""
    told: dict[str, list[float]] = {}
    for line in metrics.read_text(encoding="utf-8").splitlines():
        event: dict[str, Any] = json.loads(line)
        if event["event"] == "update":
            end = -(-event["step"] // WINDOW) * WINDOW
            told.setdefault(str(end), []).append(event["loss"])
    return {end: round(sum(values) / len(values), 4) for end, values in told.items()}


def distance(curve: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    """Return the distance of two curves in nats; a signed mean near the mean: one is lower throughout."""
    gaps = [curve[end] - other[end] for end in curve if end in other]
    return {
        "largest": round(max(map(abs, gaps)), 4),
        "mean": round(sum(map(abs, gaps)) / len(gaps), 4),
        "signed": round(sum(gaps) / len(gaps), 4),
        "last": round(gaps[-1], 4),
    }


if __name__ == "__main__":
    tyro.cli(main)
