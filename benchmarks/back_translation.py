"""Back-translation: a small corpus with and without monolingual text, from a few seeds.

    python benchmarks/back_translation.py --data ../shared/data --work runs/back-translation

Tatoeba German-English: groups of pairs that share a sentence are dealt, by a fixed seed, to a test set, a
validation set, 30,000 training pairs, and 100,000 lines of English alone. So no English line of the text
occurs in the pairs, in the validation set or in the test set. Two commands are compared for each seed:

    multihead train --src train.de --tgt train.en ...
    multihead train --src train.de --tgt train.en ... --mono mono.en

Writes results/back-translation.json after every training. The same command resumes; what is recorded is not
repeated. The training is long: hours on two cores.
"""

import gzip
import json
import random
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from multihead.data.hashes import sentence_hash
from multihead.data.splitting import connected_groups
from multihead.run import Run
from multihead.scores import bleu, chrf
from multihead.tasks.translation.lines import Translator
from multihead.text.corpus import read_lines

RESULT = Path(__file__).parents[1] / "results" / "back-translation.json"
SEED = 1
"""Seeds the choice of groups."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Options:
    """Options of the benchmark."""

    data: Path
    """Folder with the corpora."""
    work: Path = Path("runs/back-translation")
    """Folder for the files and the trainings."""
    pairs: int = 30_000
    """Training pairs."""
    mono: int = 100_000
    """Lines of English alone."""
    held_out: int = 1_000
    """Pairs of the validation set, and of the test set."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Seeds of the trainings."""
    settings: str = ""
    """Further words of both commands, for a trial on a small scale: --settings="--training.steps 40"."""


def groups(pairs: Sequence[Pair]) -> list[list[int]]:
    """Return the numbers of the pairs, those that share a sentence together, in random order."""
    hashes = [np.array([sentence_hash(pair[side]) for pair in pairs], dtype=np.uint64) for side in (0, 1)]
    found: dict[int, list[int]] = {}
    for number, group in enumerate(connected_groups(hashes[0], hashes[1]).tolist()):
        found.setdefault(group, []).append(number)
    dealt = list(found.values())
    random.Random(SEED).shuffle(dealt)
    return dealt


def write_files(options: Options) -> dict[str, int]:
    """Write the training, validation and test pairs and the monolingual text; return their sizes."""
    text = gzip.decompress((options.data / "tatoeba-de-en" / "deu-eng.tsv.gz").read_bytes()).decode("utf-8")
    rows = (line.split("\t") for line in text.split("\n")[:-1])
    pairs = [(row[1], row[0]) for row in rows]
    rest = iter(groups(pairs))
    options.work.mkdir(parents=True, exist_ok=True)
    sizes = {}
    for name, most in (("test", options.held_out), ("valid", options.held_out), ("train", options.pairs)):
        chosen = list(islice((number for group in rest for number in group), most))
        for side, ending in enumerate(("de", "en")):
            _write(options.work / f"{name}.{ending}", [pairs[number][side] for number in chosen])
        sizes[name] = len(chosen)
    # What is left of a group that was dealt above is lost with it: `rest` goes on with the next.
    english = dict.fromkeys(pairs[number][1] for group in rest for number in group)
    mono = list(islice(english, options.mono))
    _write(options.work / "mono.en", mono)
    return {**sizes, "mono": len(mono)}


def _write(path: Path, texts: Sequence[str]) -> None:
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def trainings(options: Options) -> Iterator[tuple[str, list[str], Path]]:
    """Yield the name, the command line and the run folder of each training."""
    files = [
        word
        for option, name in (("src", "train.de"), ("tgt", "train.en"))
        for word in (f"--{option}", str(options.work / name))
    ]
    files += ["--valid-src", str(options.work / "valid.de"), "--valid-tgt", str(options.work / "valid.en")]
    for seed in options.seeds:
        for name, more in (("without", []), ("with", ["--mono", str(options.work / "mono.en")])):
            run = options.work / f"{name}-{seed}"
            command = ["train", *files, *more, "--run", str(run), "--training.seed", str(seed)]
            yield f"{name}, seed {seed}", [*command, *shlex.split(options.settings)], run


def scored(run: Path, work: Path) -> dict[str, float]:
    """Return BLEU and chrF2 on the test set."""
    sources, references = (list(read_lines(str(work / f"test.{ending}"))) for ending in ("de", "en"))
    outputs = [one.text for one in Translator.load(str(run)).translate(sources)]
    return {
        "bleu": round(bleu(outputs, references).value, 2),
        "chrf": round(chrf(outputs, references).value, 2),
        "updates": max(event["step"] for event in Run.open(run).metrics()),
    }


def _given(options: Options) -> Iterator[str]:
    """Yield the options that say what was measured, where they are not the default."""
    for name in ("pairs", "mono", "held_out", "seeds", "settings"):
        value = getattr(options, name)
        if value != getattr(Options, name):
            words = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            yield f'--{name}="{words}"' if isinstance(value, str) else f"--{name} {words}"


def main() -> None:
    """Train and score, and write the results after every training."""
    options = tyro.cli(Options)
    results: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    results["command"] = " ".join(["python benchmarks/back_translation.py --data DATA", *_given(options)])
    results["sizes"] = write_files(options)
    for name, command, run in trainings(options):
        if name in results:
            continue
        print(f"multihead {shlex.join(command)}", flush=True)
        subprocess.run([sys.executable, "-m", "multihead", *command], check=True)
        results[name] = scored(run, options.work)
        RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        print(name, results[name], flush=True)


if __name__ == "__main__":
    main()
