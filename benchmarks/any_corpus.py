"""Corpora of several kinds, trained with no settings: CMUdict, SCAN, and Multi30k cut to several sizes.

    python benchmarks/any_corpus.py --data data --row cmudict scan --work runs/any-corpus
    python benchmarks/any_corpus.py --data data --row cmudict --minutes 38

Each row is one command, `multihead train --src ... --valid-src ...`, on one thread; with --minutes also that
option. Writes results/any-corpus.json after every row. The same command resumes: a training that was
interrupted continues, a row that is recorded is not repeated. Test sets are read once, at the end.

CMUdict: stress removed, base words shuffled with seed 1 and split 80/10/10; a word is right if its output
equals any pronunciation listed for it. SCAN: the simple split. Multi30k: de-en, the first N pairs after a
shuffle with seed 1, in the order of the corpus; tested on test_2016_flickr.
"""

import gzip
import json
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import tyro

from multihead.run import Run
from multihead.run.environment import environment
from multihead.scores import bleu, character_error_rate, chrf, word_error_rate
from multihead.tasks.translation.lines import Translator

RESULT = Path(__file__).parents[1] / "results" / "any-corpus.json"
SIZES = (1_000, 3_000, 10_000, 29_000)

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Corpus:
    """Training, validation (empty: held out by the training itself) and test pairs."""

    train: Pairs
    valid: Pairs
    test: Pairs


def lines(path: Path) -> list[str]:
    """Return the lines of a compressed file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().removesuffix("\n").split("\n")


def cmudict(data: Path) -> Corpus:
    """Letters to phonemes."""
    listed: dict[str, list[str]] = {}
    for line in lines(data / "cmudict" / "cmudict.dict.gz"):
        word, *phonemes = line.partition("#")[0].split()
        spoken = listed.setdefault(re.sub(r"\(\d+\)$", "", word), [])
        plain = re.sub(r"\d", "", " ".join(phonemes))
        if plain not in spoken:
            spoken.append(plain)
    words = sorted(listed)
    random.Random(1).shuffle(words)
    ends = [0, int(0.8 * len(words)), int(0.9 * len(words)), len(words)]
    parts = [
        [(word, spoken) for word in words[begin:end] for spoken in listed[word]]
        for begin, end in pairwise(ends)
    ]
    return Corpus(*parts)


def scan(data: Path) -> Corpus:
    """Commands to actions."""

    def pairs(part: str) -> Pairs:
        found = []
        for line in lines(data / "scan" / f"tasks_{part}_simple.txt.gz"):
            command, _, actions = line.removeprefix("IN: ").partition(" OUT: ")
            found.append((command, actions.strip()))
        return found

    return Corpus(pairs("train"), [], pairs("test"))


def multi30k(data: Path, size: int) -> Corpus:
    """Captions, German to English."""

    def pairs(part: str) -> Pairs:
        sides = (lines(data / "multi30k" / f"{part}.{side}.gz") for side in ("de", "en"))
        return [(one.strip(), other.strip()) for one, other in zip(*sides, strict=True)]

    every = pairs("train")
    numbers = list(range(len(every)))
    random.Random(1).shuffle(numbers)
    return Corpus(
        [every[number] for number in sorted(numbers[:size])], pairs("val"), pairs("test_2016_flickr")
    )


ROWS: dict[str, Callable[[Path], Corpus]] = {
    "cmudict": cmudict,
    "scan": scan,
    **{f"multi30k-{size}": lambda data, size=size: multi30k(data, size) for size in SIZES},  # type: ignore[misc]
}


@dataclass
class Options:
    """Options of the benchmark."""

    data: Path
    """Folder with the corpora."""
    row: list[str] = field(default_factory=lambda: list(ROWS))
    """Rows to measure."""
    work: Path = Path("runs/any-corpus")
    """Folder for the prepared corpora and the runs."""
    minutes: float | None = None
    """Time limit of a training."""
    seed: int = 1
    """training.seed."""


def write(path: Path, pairs: Pairs) -> None:
    """Write pairs as TSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8", newline="\n")


def command_of(row: str, options: Options, corpus: Corpus) -> list[str]:
    """Return the words after ``multihead``."""
    folder = options.work / row
    valid = ["--valid-src", str(folder / "valid.tsv")] if corpus.valid else []
    limit = [] if options.minutes is None else ["--minutes", f"{options.minutes:g}"]
    seed = [] if options.seed == 1 else ["--training.seed", str(options.seed)]
    run = folder / f"run-{options.seed}{'' if options.minutes is None else f'-{options.minutes:g}'}"
    plain = ["--training.threads", "1", "--run", str(run)]
    return ["train", "--src", str(folder / "train.tsv"), *valid, *limit, *seed, *plain]


def scored(run: Path, pairs: Pairs) -> dict[str, float]:
    """Return the scores of a finished run on a test set; a source may have several references."""
    references: dict[str, list[str]] = {}
    for source, target in pairs:
        references.setdefault(source, []).append(target)
    sources = list(references)
    outputs = [one.text for one in Translator.load(run, device="cpu").translate(sources)]
    right = sum(output in references[source] for output, source in zip(outputs, sources, strict=True))
    first = [references[source][0] for source in sources]
    return {
        "lines": len(sources),
        "right_percent": round(100 * right / len(sources), 3),
        "wrong_percent": round(100 - 100 * right / len(sources), 3),
        "wer": round(word_error_rate(outputs, first), 3),
        "cer": round(character_error_rate(outputs, first), 3),
        "bleu": round(bleu(outputs, first).value, 2),
        "chrf": round(chrf(outputs, first).value, 2),
    }


def measured(row: str, options: Options) -> dict[str, Any]:
    """Train and test one row."""
    corpus = ROWS[row](options.data)
    for part in ("train", "valid"):
        if pairs := getattr(corpus, part):
            write(options.work / row / f"{part}.tsv", pairs)
    command = command_of(row, options, corpus)
    subprocess.run([sys.executable, "-m", "multihead", *command], check=True)
    folder = Path(command[-1])
    run = Run.open(folder)
    state = run.load_state()
    assert state is not None
    progress = state[1]
    ends = [event for event in run.metrics() if event.get("event") == "end"]
    return {
        "command": f"multihead {shlex.join(command)}",
        "pairs": len(corpus.train),
        "updates": progress["step"],
        "cooldown": list(progress["cooldown"]),
        "ended": progress["stopped"] or progress["ending"],
        "minutes_of_updates": round(progress["seconds"] / 60, 1),
        "minutes_in_all": round(progress["elapsed"] / 60, 1),
        "validation": {key: value for key, value in ends[-1]["metrics"].items() if key != "perplexity"},
        "test": scored(folder, corpus.test),
        "chosen": run.recipe.reasons,
        "recipe": {key: value for key, value in run.recipe.values().items() if not key.startswith("data.")},
        "environment": environment({}),
    }


def main() -> None:
    """Measure the rows that are not recorded yet."""
    options = tyro.cli(Options, description=__doc__)
    found = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    for row in options.row:
        name = f"{row} seed {options.seed}" + (f" {options.minutes:g} min" if options.minutes else "")
        if name not in found:
            found[name] = measured(row, options)
            RESULT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(name, json.dumps(found[name]["test"]))


if __name__ == "__main__":
    main()
