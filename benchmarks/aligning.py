"""Passages that `multihead align` pairs rightly, by lengths, names and numbers.

    python benchmarks/aligning.py --data ../shared/data

Texts of 200 consecutive sentences of a parallel corpus. On each side 3 % of the sentences are left out, and
3 % are joined with the next. A pair is right if it is one of the smallest pairs of passages that share no
sentence with others. Writes results/aligning.json. Nothing is timed.
"""

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from multihead.text.length_alignment import align_lengths

RESULT = Path(__file__).parents[1] / "results" / "aligning.json"
CORPORA = {
    "multi30k de-en": ("multi30k/train.de.gz", "multi30k/train.en.gz"),
    "ko-en, Python's documentation": ("ko-en/pydocs.train.ko.gz", "ko-en/pydocs.train.en.gz"),
    "nllb-seed fur-en": ("nllb-seed-romance/train.fur.gz", "nllb-seed-romance/train.eng.gz"),
}
TEXTS, SENTENCES, SHARE = 50, 200, 0.03

Passage = tuple[frozenset[int], str]
"""Numbers of its sentences, and its text."""


@dataclass(frozen=True)
class Options:
    """Options of the benchmark."""

    data: Path
    """Folder with the corpora."""
    seed: int = 1
    """Seed of the texts, and of what is left out and joined."""


def lines(path: Path) -> list[str]:
    """Return the lines of a compressed file."""
    return gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")[:-1]


def passages(sentences: Sequence[str], generator: random.Random) -> list[Passage]:
    """Return a text with sentences left out and joined."""
    found: list[Passage] = []
    joining = False
    for number, text in enumerate(sentences):
        if joining:
            numbers, before = found.pop()
            found.append((numbers | {number}, f"{before} {text}"))
            joining = False
            continue
        chance = generator.random()
        if chance >= SHARE:
            found.append((frozenset({number}), text))
            joining = chance < 2 * SHARE
    return found


def measured(sides: Sequence[Sequence[str]], generator: random.Random) -> dict[str, float]:
    """Return precision and recall in percent, and the number of pairs there are."""
    right = made = existing = 0
    for _ in range(TEXTS):
        start = generator.randrange(len(sides[0]) - SENTENCES)
        left, right_side = (passages(side[start : start + SENTENCES], generator) for side in sides)
        truth = _components(left, right_side)
        beads = align_lengths(*([text for _, text in side] for side in (left, right_side)))
        pairs = {(one, other) for one, other in beads if one and other}
        made += len(pairs)
        existing += len(truth)
        right += sum((tuple(one), tuple(other)) in truth for one, other in pairs)
    return {
        "pairs": existing,
        "precision": round(100 * right / made, 2),
        "recall": round(100 * right / existing, 2),
    }


def _components(
    left: Sequence[Passage], right: Sequence[Passage]
) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the smallest pairs of passages that share no sentence with others."""
    groups: list[tuple[set[int], set[int], set[int]]] = []
    for side, several in enumerate((left, right)):
        for place, (numbers, _) in enumerate(several):
            new: tuple[set[int], set[int], set[int]] = (set(numbers), set(), set())
            new[1 + side].add(place)
            for group in [group for group in groups if group[0] & numbers]:
                groups.remove(group)
                for own, other in zip(new, group, strict=True):
                    own |= other
            groups.append(new)
    return {(tuple(sorted(one)), tuple(sorted(other))) for _, one, other in groups if one and other}


def main() -> None:
    """Measure, and write the results."""
    options = tyro.cli(Options, description=__doc__)
    results: dict[str, object] = {"command": "python benchmarks/aligning.py --data DATA"}
    for name, files in CORPORA.items():
        sides = [lines(options.data / file) for file in files]
        results[name] = measured(sides, random.Random(options.seed))
        print(name, results[name], flush=True)
    RESULT.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
