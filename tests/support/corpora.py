"""Small parallel corpora in files, prepared with a cache next to them."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multihead.data.prepare import PreparedCorpus, prepare
from multihead.recipe.settings import DataSettings, TokenizerSettings

WORDS = TokenizerSettings(kind="words", joint=False)
Pair = tuple[str, str]


def some_pairs(count: int, seed: int = 1) -> list[Pair]:
    """Return pairs of 3 to 9 words that share no sentence."""
    rng = random.Random(seed)
    words = ["Haus", "Baum", "Kind", "rot", "grün", "läuft", "steht", "und", "ein", "das", "viele"]
    said = [[f"w{i}", *rng.choices(words, k=rng.randint(2, 8))] for i in range(count)]
    return [(" ".join(words), " ".join(f"{word}en" for word in reversed(words))) for words in said]


@dataclass
class Corpus:
    """Files train.src and train.tgt in a folder, and a cache next to them."""

    folder: Path

    def write(self, pairs: list[Pair], name: str = "train") -> None:
        for side, suffix in enumerate((".src", ".tgt")):
            text = "".join(pair[side] + "\n" for pair in pairs)
            (self.folder / f"{name}{suffix}").write_text(text, encoding="utf-8")

    def settings(self, **changes: Any) -> DataSettings:
        defaults: dict[str, Any] = {
            "dir": str(self.folder),
            "source": ("train.src",),
            "target": ("train.tgt",),
            "cache": str(self.folder / "cache"),
        }
        return DataSettings(**defaults | changes)

    def prepare(self, tokenizer: TokenizerSettings = WORDS, **changes: Any) -> PreparedCorpus:
        return prepare(self.settings(**changes), tokenizer)


VALID: dict[str, Any] = {"valid_source": ("valid.src",), "valid_target": ("valid.tgt",)}


def trained_on(prepared: PreparedCorpus) -> list[Pair]:
    source, target = prepared.source_tokenizer, prepared.target_tokenizer
    store = prepared.train
    return [(source.decode(store.source(i)), target.decode(store.target(i))) for i in range(len(store))]
