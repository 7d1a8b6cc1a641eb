"""A small trained run for tests of the commands, trained through the command line in seconds."""

from pathlib import Path

import pytest

from multihead.cli import main

WORDS = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four", "fünf": "five", "sechs": "six"}


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return source and target file: triples of number words, translated and reversed."""
    folder = tmp_path_factory.mktemp("corpus")
    source, target = folder / "train.de", folder / "train.en"
    triples = [(a, b, c) for a in WORDS for b in WORDS for c in WORDS]
    source.write_text("".join(f"{a} {b} {c}\n" for a, b, c in triples), encoding="utf-8")
    target.write_text("".join(f"{WORDS[c]} {WORDS[b]} {WORDS[a]}\n" for a, b, c in triples), encoding="utf-8")
    return source, target


@pytest.fixture(scope="session")
def training(corpus: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command that trains on the corpus in seconds, without ``--run``."""
    source, target = map(str, corpus)
    settings = {
        "tokenizer.kind": "words",
        "tokenizer.vocab_size": 31,
        "tokenizer.dropout": 0,
        "model.d_model": 16,
        "model.d_ff": 24,
        "model.num_layers": 1,
        "model.num_heads": 2,
        "training.steps": 12,
        "training.batch_tokens": 211,
        "training.log_every": 3,
        "training.threads": 1,
        "validation.every": 6,
        "validation.samples": 2,
        "validation.max_examples": 7,
        "validation.patience": 0,
        "search.max_extra": 7,  # hardly trained, it would write on to the end
        "data.cache": tmp_path_factory.mktemp("cache"),
        "data.tests.held_out": json_list(source, target),
    }
    keys = [part for key, value in settings.items() for part in (f"--{key}", str(value))]
    return ["train", "--src", source, "--tgt", target, *keys]


@pytest.fixture(scope="session")
def trained(training: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a trained run."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert main([*training, "--run", str(folder)]) == 0
    return folder


def json_list(*texts: str) -> str:
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"
