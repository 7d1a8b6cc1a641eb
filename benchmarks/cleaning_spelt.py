"""Words with the phonemes of other words, which `multihead clean` finds, and sound pairs that it drops.

    python benchmarks/cleaning_spelt.py --data ../shared/data

8,000 words of CMUdict, stress removed, 5 % of them with the phonemes of another word: judged as `clean` does,
and by pieces alone. Writes results/cleaning-spelt.json. Nothing is timed.
"""

import gzip
import json
import random
from pathlib import Path
from typing import Annotated
from unittest import mock

import numpy as np
import tyro

from multihead.data.cleaning import lexical
from multihead.data.cleaning.verdicts import judge

RESULT = Path(__file__).parents[1] / "results" / "cleaning-spelt.json"
PAIRS, EVERY, SEEDS = 8_000, 20, (2, 3)


def words(data: Path) -> list[tuple[str, str]]:
    """Return words and their first pronunciations."""
    with gzip.open(data / "cmudict" / "cmudict.dict.gz", "rt", encoding="utf-8") as file:
        rows = [line.partition("#")[0].split() for line in file]
    return [
        (row[0], " ".join(phoneme.rstrip("012") for phoneme in row[1:]))
        for row in rows
        if row and "(" not in row[0]
    ]


def shares(pairs: list[tuple[str, str]], spoilt: list[int]) -> dict[str, float]:
    """Return the percentages of spoilt pairs that are found, and of the others that are dropped."""
    dropped = judge(pairs).reasons >= 0
    is_spoilt = np.zeros(len(pairs), dtype=bool)
    is_spoilt[spoilt] = True
    return {
        "found": round(100 * float(dropped[is_spoilt].mean()), 2),
        "dropped": round(100 * float(dropped[~is_spoilt].mean()), 2),
    }


def main(data: Annotated[Path, tyro.conf.arg(help="Folder of shared corpora.")]) -> None:
    """Judge, and write the result."""
    result: dict[str, object] = {"command": "python benchmarks/cleaning_spelt.py --data DATA"}
    for seed in SEEDS:
        chance = random.Random(seed)
        pairs = chance.sample(words(data), PAIRS)
        spoilt = sorted(chance.sample(range(PAIRS), PAIRS // EVERY))
        targets = [pairs[number][1] for number in spoilt]
        for number, target in zip(spoilt, [*targets[1:], targets[0]], strict=True):
            pairs[number] = pairs[number][0], target
        found = {"as clean does": shares(pairs, spoilt)}
        with mock.patch.object(lexical, "is_spelt", return_value=False):
            found["by pieces alone"] = shares(pairs, spoilt)
        result[f"seed {seed}"] = found
        print(seed, found, flush=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    tyro.cli(main)
