"""A small run to try things on, and copies of this process to kill."""

import os
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from multihead.models.transformer import Settings as TransformerSettings
from multihead.recipe import Recipe, load, with_horizon
from multihead.recipe.settings import Settings, TokenizerSettings
from multihead.run import Run
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train(["ein Hund und eine Katze", "a dog and a cat"] * 3, TokenizerSettings(vocab_size=300))


@pytest.fixture(scope="session")
def recipe(tokenizer: Tokenizer) -> Recipe[Settings]:
    size = tokenizer.vocab_size
    model = TransformerSettings(
        source_vocab=size, target_vocab=size, d_model=6, d_ff=7, num_layers=1, num_heads=2
    )
    return with_horizon(replace(load("quickstart"), model=model))


@pytest.fixture
def make(tmp_path: Path, recipe: Recipe[Settings], tokenizer: Tokenizer) -> Callable[[], Run]:
    """Makes the run; the lock is let go."""

    def made() -> Run:
        with Run.create(tmp_path / "run", recipe, (tokenizer, tokenizer), {"data": {}}) as run:
            return run

    return made


@pytest.fixture
def fork() -> Callable[[Callable[[], None]], int]:
    """Runs something in a copy of this process, which needs no start; returns the copy's number."""

    def forked(work: Callable[[], None]) -> int:
        number = os.fork()
        if number == 0:
            try:
                work()
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        return number

    return forked
