"""Text to train tokenizers on."""

import gzip
import random
from pathlib import Path

import pytest

MULTI30K = Path(__file__).parents[3] / "shared" / "data" / "multi30k"


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """1,009 sentences of a made-up language with frequent and rare words."""
    chance = random.Random(7)
    syllables = [a + b + c for a in "bdgklmnprst" for b in ("a", "ei", "ü", "o") for c in ("", "n", "ß")]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(499)]
    words += ["안녕하세요", "감사합니다", "API를", "don't", "7", "1234"]
    chances = [1 / rank for rank in range(1, len(words) + 1)]
    made = (chance.choices(words, chances, k=chance.randint(1, 13)) for _ in range(1009))
    return [" ".join(sentence).capitalize() + chance.choice([".", "!", " (?)", ""]) for sentence in made]


@pytest.fixture(scope="session")
def multi30k() -> list[str]:
    """5,003 real captions, alternating between German and English."""
    if not MULTI30K.is_dir():
        pytest.skip("../shared/data/multi30k is missing")
    sides = []
    for language in ("de", "en"):
        with gzip.open(MULTI30K / f"train.{language}.gz", "rt", encoding="utf-8", newline="\n") as lines:
            sides.append([line.removesuffix("\n") for line in lines])
    return [line for pair in zip(*sides, strict=True) for line in pair][:5003]
