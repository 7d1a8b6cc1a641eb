"""Text written otherwise: BLEU of a translator in capitals, in lower case and with typing errors.

    python benchmarks/robustness.py --data data/multi30k
    python benchmarks/robustness.py --data data/multi30k --recipe multi30k-de-en-fast --part val

Trains a recipe with each rate of noise (``tokenizer.noise_rate``) and three seeds, and translates the set by
`multihead translate`: as it is, upper-cased, lower-cased, and with an error at 5 % of its letters (one left
out, doubled or swapped with the next; seed 1). BLEU is case-insensitive. Rates are compared on the validation
set (``--part val``), the chosen one is measured on test_2016_flickr. Writes results/robustness.json after
every training; the same command resumes. One thread; no times are recorded, so other programs may run.
"""

import gzip
import json
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from multihead.data.noising import misspelt
from multihead.run.environment import environment
from multihead.scores import bleu

RESULT = Path(__file__).parents[1] / "results" / "robustness.json"
TYPOS = 0.05


@dataclass(frozen=True)
class Options:
    """Options of the benchmark."""

    data: Path
    """Folder of Multi30k."""
    recipe: str = "multi30k-de-en"
    """Recipe to train."""
    rates: tuple[float, ...] = (0.0, 0.2)
    """Values of tokenizer.noise_rate."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Values of training.seed."""
    part: Literal["val", "test_2016_flickr"] = "test_2016_flickr"
    """Set to translate."""
    work: Path = Path("runs/robustness")
    """Folder of the runs."""
    minutes: int = 0
    """Duration of each training; 0: as many updates as the recipe says."""


def lines(path: Path) -> list[str]:
    """Return the lines of a compressed file."""
    return gzip.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")


def variants(sources: list[str]) -> dict[str, list[str]]:
    """Return the sources written in four ways."""
    chance = random.Random(1)
    return {
        "clean": sources,
        "upper": [line.upper() for line in sources],
        "lower": [line.lower() for line in sources],
        "typos": [misspelt(line, TYPOS, chance) for line in sources],
    }


def multihead(*words: str, text: str = "") -> str:
    """Run a command and return its output."""
    command = [sys.executable, "-m", "multihead", *words]
    return subprocess.run(command, input=text, check=True, stdout=subprocess.PIPE, text=True).stdout


def measured(options: Options, rate: float, seed: int) -> dict[str, float]:
    """Train with a rate and a seed; return BLEU by the way of writing."""
    run = options.work / f"{options.recipe}-{options.minutes}-{rate:g}-{seed}"
    multihead(
        *("train", options.recipe, "--data.dir", str(options.data), "--run", str(run)),
        *("--training.seed", str(seed), "--training.threads", "1", "--tokenizer.noise_rate", str(rate)),
        *(("--minutes", str(options.minutes)) if options.minutes else ()),
    )
    references = lines(options.data / f"{options.part}.en.gz")
    found = {}
    for name, sources in variants(lines(options.data / f"{options.part}.de.gz")).items():
        written = multihead("translate", str(run), text="".join(f"{line}\n" for line in sources))
        outputs = written.removesuffix("\n").split("\n")
        found[name] = round(bleu(outputs, references, lowercase=True).value, 2)
    return found


def main() -> None:
    """Measure what is not recorded yet."""
    options = tyro.cli(Options, description=__doc__)
    results = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    for seed in options.seeds:
        for rate in options.rates:
            length = f" in {options.minutes} minutes" if options.minutes else ""
            name = f"{options.recipe}{length} {options.part} noise {rate:g} seed {seed}"
            if name not in results:
                results[name] = measured(options, rate, seed)
                results["environment"] = environment({})
                RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            print(name, json.dumps(results[name]), flush=True)


if __name__ == "__main__":
    main()
