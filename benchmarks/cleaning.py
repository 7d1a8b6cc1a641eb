"""Pairs spoilt on purpose that `multihead clean` finds, and sound ones that it drops.

    python benchmarks/cleaning.py --data ../shared/data

5 % of each corpus are spoilt, 1.25 % in each way: passages whose targets are shifted by one line, exchanged
sides, one side in another language, and noise. The rules were tuned on seed 1; the seeds reported are others.
Writes results/cleaning.json. Nothing is timed.
"""

import gzip
import json
import random
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from multihead.data.cleaning.verdicts import REASONS, judge

RESULT = Path(__file__).parents[1] / "results" / "cleaning.json"
SHARE = 0.0125
"""Share of the pairs that is spoilt in each way."""
PASSAGE = 5, 40
"""Shortest and longest shifted passage."""
WAYS = ("shifted", "swapped", "language", "noise")
CORPORA: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "multi30k de-en": (("multi30k/train.de.gz",), ("multi30k/train.en.gz",)),
    "ko-en": (
        ("ko-en/pydocs.train.ko.gz", "ko-en/tldr.train.ko.gz"),
        ("ko-en/pydocs.train.en.gz", "ko-en/tldr.train.en.gz"),
    ),
    "nllb-seed fur-en": (("nllb-seed-romance/train.fur.gz",), ("nllb-seed-romance/train.eng.gz",)),
    "nllb-seed scn-en": (("nllb-seed-romance/train.scn.gz",), ("nllb-seed-romance/train.eng.gz",)),
}
FOREIGN = ("multi30k/train.fr.gz", "multi30k/train.cs.gz")
"""Sentences in languages of none of the corpora."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Options:
    """Options of the benchmark."""

    data: Path
    """Folder with the corpora."""
    seeds: tuple[int, ...] = (2, 3, 4)
    """Seeds of the spoilt pairs; the rules were tuned on 1."""
    corpora: tuple[str, ...] = tuple(CORPORA)
    """Corpora to measure."""


def lines(path: Path) -> list[str]:
    """Return the lines of a compressed file."""
    return gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")[:-1]


def spoilt(
    pairs: Sequence[Pair], foreign: Sequence[Sequence[str]], seed: int
) -> tuple[list[Pair], list[str]]:
    """Return the pairs with some of them spoilt, and the way of each, "" for sound ones."""
    generator = random.Random(seed)
    sources, targets = [list(side) for side in zip(*pairs, strict=True)]
    ways = [""] * len(pairs)
    count = round(SHARE * len(pairs))
    left = count
    while left > 0:
        length = max(2, min(left, generator.randint(*PASSAGE)))
        start = generator.randrange(len(pairs) - length)
        passage = range(start, start + length)
        if any(ways[n] or targets[n] == targets[n + 1] for n in passage):
            continue
        targets[start : start + length] = [*targets[start + 1 : start + length], targets[start]]
        for number in passage:
            ways[number] = "shifted"
        left -= length
    free = [number for number, way in enumerate(ways) if not way]
    generator.shuffle(free)
    for number in free[:count]:
        sources[number], targets[number] = targets[number], sources[number]
        ways[number] = "swapped"
    for place, number in enumerate(free[count : 2 * count]):
        other = foreign[place % len(foreign)]
        (sources, targets)[place // 2 % 2][number] = generator.choice(other)
        ways[number] = "language"
    for place, number in enumerate(free[2 * count : 3 * count]):
        side = (sources, targets)[place % 2]
        side[number] = generator.choice(NOISES)(side[number], generator)
        ways[number] = "noise"
    return list(zip(sources, targets, strict=True)), ways


def _shuffled(text: str, generator: random.Random) -> str:
    letters = list(text)
    generator.shuffle(letters)
    return "".join(letters)


def _characters(alphabet: str) -> Callable[[str, random.Random], str]:
    return lambda text, generator: "".join(generator.choices(alphabet, k=max(8, len(text))))


def _repeated(text: str, generator: random.Random) -> str:
    words = text.split() or ["-"]
    return " ".join([generator.choice(words)] * max(5, len(words)))


def _markup(text: str, generator: random.Random) -> str:
    number = generator.randrange(10_000)
    return f'<div class="nav-{number}"><a href="/p?id={number}">&gt;&gt;</a> | {number} | </div>'


NOISES: tuple[Callable[[str, random.Random], str], ...] = (
    _shuffled,
    _characters(string.printable[:94]),
    _characters(string.ascii_lowercase + " "),
    _repeated,
    _markup,
)
"""Characters in random order, random characters, random letters, one word repeated, a scrap of a page."""


def measured(pairs: Sequence[Pair], foreign: Sequence[Sequence[str]], seed: int) -> dict[str, Any]:
    """Return the percentage found of each way, with the verdicts, and of the rest what is dropped."""
    given, ways = spoilt(pairs, foreign, seed)
    verdicts = [REASONS[number] if number >= 0 else "kept" for number in judge(given).reasons.tolist()]
    found: dict[str, Any] = {}
    for way in (*WAYS, ""):
        counts = Counter(verdict for verdict, one in zip(verdicts, ways, strict=True) if one == way)
        dropped = 100 * (1 - counts["kept"] / counts.total())
        found[way or "rest"] = {
            "pairs": counts.total(),
            "found" if way else "dropped": round(dropped, 2),
            "verdicts": dict(counts.most_common()),
        }
    return found


def main() -> None:
    """Measure, and write the results after every corpus and seed."""
    options = tyro.cli(Options)
    foreign = [lines(options.data / name) for name in FOREIGN]
    results: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    results["command"] = "python benchmarks/cleaning.py --data DATA"
    for name in options.corpora:
        sides = [[line for part in side for line in lines(options.data / part)] for side in CORPORA[name]]
        pairs = list(zip(*sides, strict=True))
        for seed in options.seeds:
            results.setdefault(name, {})[f"seed {seed}"] = measured(pairs, foreign, seed)
            RESULT.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            one = results[name][f"seed {seed}"]
            shown = [f"{way} {one[way]['found']}" for way in WAYS]
            rest = f"{one['rest']['dropped']} % of the rest dropped"
            print(f"{name}, seed {seed}: {', '.join(shown)} % found; {rest}", flush=True)


if __name__ == "__main__":
    main()
