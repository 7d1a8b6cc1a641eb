"""A corpus and a recipe that train in a second or two."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from multihead import recipe as recipes
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings

WORDS = [
    "rot",
    "grün",
    "blau",
    "klein",
    "groß",
    "Hund",
    "Katze",
    "Haus",
    "Baum",
    "läuft",
    "sieht",
    "und",
    "nicht",
]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.de and train.en: 257 pairs, the target being the reversed words in capitals."""
    folder = tmp_path_factory.mktemp("corpus")
    chance = random.Random(7)
    lines = [" ".join(chance.choices(WORDS, k=chance.randint(2, 7))) for _ in range(257)]
    (folder / "train.de").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    backwards = [" ".join(reversed(line.upper().split())) for line in lines]
    (folder / "train.en").write_text("".join(f"{line}\n" for line in backwards), encoding="utf-8")
    return folder


@pytest.fixture
def small(corpus: Path) -> Callable[..., Recipe[Settings]]:
    """Return a function that makes a small recipe; keyword arguments with "__" for "." override settings."""

    def make(**overrides: object) -> Recipe[Settings]:
        settings: dict[str, object] = {
            "name": "small",
            "data.dir": str(corpus),
            "data.source": "train.de",
            "data.target": "train.en",
            "tokenizer.kind": "chars",
            "model.d_model": 14,
            "model.d_ff": 22,
            "model.num_heads": 2,
            "model.num_layers": 1,
            "training.steps": 6,
            "training.batch_tokens": 523,
            "training.warmup_steps": 3,
            "training.log_every": 1,
            "training.threads": 1,
            "validation.every": 2,
            "validation.max_examples": 11,
            "validation.samples": 2,
        }
        settings |= {key.replace("__", "."): value for key, value in overrides.items()}
        return recipes.from_toml("", overrides=settings)

    return make
