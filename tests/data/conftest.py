"""A small corpus on disk, and a guard against preparing it twice."""

from collections.abc import Callable
from pathlib import Path

import pytest
from corpora import Corpus, some_pairs

from multihead.data import prepare as preparing


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    corpus = Corpus(tmp_path)
    corpus.write(some_pairs(211))
    corpus.write(some_pairs(23, seed=2), "valid")
    return corpus


@pytest.fixture
def never_again(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it to make any further build of prepared data fail."""

    def fail(*arguments: object) -> None:
        raise AssertionError("built again")

    return lambda: monkeypatch.setattr(preparing, "build", fail)
