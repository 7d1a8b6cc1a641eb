"""BLEU after training on pairs spoilt on purpose, on what `multihead clean` keeps of them, and on sound ones.

    python benchmarks/cleaning_bleu.py --data ../shared/data

Multi30k de-en, 5 % of the pairs spoilt as in cleaning.py. Each corpus is given to `multihead train
multi30k-de-en-fast --src ... --valid-src ...`, one thread, and the test set to the run. Writes
results/cleaning-bleu.json after every training. The same command resumes: an interrupted training continues,
a recorded one is not repeated.
"""

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import any_corpus
import cleaning
import tyro

from multihead.run import Run
from multihead.run.environment import environment

RESULT = Path(__file__).parents[1] / "results" / "cleaning-bleu.json"
CORPORA = ("spoilt", "cleaned", "sound")
SPOILT = 2
"""Seed of the spoilt pairs; the rules of `clean` were tuned on 1."""


@dataclass(frozen=True)
class Options:
    """Options of the benchmark."""

    data: Path
    """Folder with the corpora."""
    work: Path = Path("runs/cleaning-bleu")
    """Folder for the corpora and the runs."""
    seeds: tuple[int, ...] = (1,)
    """Seeds of the trainings."""
    corpora: tuple[str, ...] = CORPORA
    """Corpora to train on."""


def multihead(*words: str) -> None:
    """Run a command of multihead."""
    print(f"multihead {shlex.join(words)}", flush=True)
    subprocess.run([sys.executable, "-m", "multihead", *words], check=True)


def write_corpora(options: Options) -> dict[str, int]:
    """Write the three corpora and the validation pairs; return their numbers of pairs."""
    corpus = any_corpus.multi30k(options.data, 29_000)
    foreign = [cleaning.lines(options.data / name) for name in cleaning.FOREIGN]
    spoilt, _ = cleaning.spoilt(corpus.train, foreign, SPOILT)
    for name, pairs in (("sound", corpus.train), ("spoilt", spoilt), ("valid", corpus.valid)):
        any_corpus.write(options.work / f"{name}.tsv", pairs)
    cleaned = options.work / "cleaned.tsv"
    if not cleaned.exists():
        multihead("clean", "--src", str(options.work / "spoilt.tsv"), "-o", str(cleaned))
    return {
        name: len((options.work / f"{name}.tsv").read_text(encoding="utf-8").split("\n")) - 1
        for name in CORPORA
    }


def main() -> None:
    """Train, score, and write the results after every training."""
    options = tyro.cli(Options, description=__doc__)
    found: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    found["command"] = "python benchmarks/cleaning_bleu.py --data DATA"
    found["pairs"] = write_corpora(options)
    test = any_corpus.multi30k(options.data, 1).test
    for seed in options.seeds:
        for corpus in options.corpora:
            name = f"{corpus}, seed {seed}"
            if name in found:
                continue
            run = options.work / f"{corpus}-{seed}"
            files = [
                "--src",
                str(options.work / f"{corpus}.tsv"),
                "--valid-src",
                str(options.work / "valid.tsv"),
            ]
            plain = ["--training.seed", str(seed), "--training.threads", "1", "--run", str(run)]
            multihead("train", "multi30k-de-en-fast", *files, *plain)
            end = [event for event in Run.open(run).metrics() if event.get("event") == "end"][-1]
            found[name] = {**any_corpus.scored(run, test), "updates": end["step"]}
            found["environment"] = environment({})
            RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(name, found[name], flush=True)


if __name__ == "__main__":
    main()
