"""Time from raw text to a translator, everything counted, and the translator's BLEU.

    python benchmarks/minutes_to_bleu.py --data-dir data/multi30k

trains `multihead train multi30k-de-en-fast` with an empty cache (the start of Python, reading, vocabulary,
training and validation are included), measures with `multihead evaluate` on test_2016_flickr, and prints
JSON; with `--out` also to that file. Run nothing beside it. `--keep FOLDER` keeps the run there. With
`--minutes 2` the training has zero settings and that time instead of a recipe. `make speedrun` does so from
three seeds.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tyro

from multihead.run.environment import environment
from multihead.system.hardware import usable_cores

TEST = "test_2016_flickr"


def main(
    data_dir: Path = Path("data/multi30k"),
    recipe: str = "multi30k-de-en-fast",
    out: Path | None = None,
    keep: Path | None = None,
    threads: int = 0,
    minutes: float = 0,
    seed: int = 1,
) -> None:
    """Train, measure, print."""
    with tempfile.TemporaryDirectory() as folder:
        run = keep or Path(folder) / "run"
        corpus = ["--src", "train.de.gz", "--tgt", "train.en.gz", "--minutes", str(minutes)]
        what = [*corpus, "--src-lang", "de", "--tgt-lang", "en"] if minutes else [recipe]
        where = ["--data.dir", str(data_dir), "--data.cache", f"{folder}/cache", "--run", str(run)]
        how = ["--training.threads", str(threads), "--training.seed", str(seed)]
        began = time.monotonic()
        _multihead("train", *what, *where, *how)
        trained = time.monotonic()
        files = [str(data_dir / f"{TEST}.{side}.gz") for side in ("de", "en")]
        told = _multihead("evaluate", str(run), "--src", files[0], "--tgt", files[1], "--json")
        ended = time.monotonic()
    result = {
        "recipe": f"zero settings, --minutes {minutes:g}" if minutes else recipe,
        "seed": seed,
        "threads": threads or usable_cores(),
        "minutes_to_train": round((trained - began) / 60, 2),
        "seconds_to_train": round(trained - began, 1),
        "minutes_to_evaluate": round((ended - trained) / 60, 2),
        TEST: next(iter(json.loads(told).values())),
        "environment": environment({}),
    }
    if out:
        out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


def _multihead(*arguments: str) -> str:
    command = [sys.executable, "-m", "multihead", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    tyro.cli(main)
