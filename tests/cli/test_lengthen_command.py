"""`multihead lengthen`: the same outputs within a window, and errors for what cannot be lengthened."""

from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Captured, fail, run
from torch.testing import assert_close
from untrained_runs import OLD, made

from multihead.batch import Input
from multihead.data.hashes import file_sha256
from multihead.run import Run


def texts(n: int) -> Input:
    ids = torch.randint(1, 20, (2, n))
    return Input(ids, torch.zeros_like(ids), torch.tensor([n, n - 4]))


@pytest.mark.parametrize("kind", ["bert", "bert_classifier", "bert_spans", "bert_tagger"])
def test_an_encoder_computes_the_same_within_its_window(
    kind: str, tmp_path: Path, capfdbinary: Captured
) -> None:
    old = made(tmp_path / "old", kind)
    out = run(capfdbinary, "lengthen", old, "--positions", 50, "-o", tmp_path / "new")[0]
    assert "50 positions, longformer, window 17" in out
    new = Run.open(tmp_path / "new")
    model: Any = new.load_model()
    read = texts(9)
    with torch.no_grad():
        found = model.encoder(read)
        before: Any = Run.open(old).load_model()
        expected = before.encoder(read)
        assert_close(found[0], expected[0])
        assert_close(found[1, :5], expected[1, :5])
        assert model.encoder(texts(50)).shape == (2, 50, 12)
    positions = model.encoder.positions.weight
    assert_close(positions[OLD : 2 * OLD], positions[:OLD])
    assert_close(positions[2 * OLD :], positions[:16])
    assert new.recipe.data.max_length == 50
    assert file_sha256(old / "model.safetensors") in str(new.environment["data"]["files"])


def test_a_gpt_computes_the_same_within_its_context(tmp_path: Path, capfdbinary: Captured) -> None:
    old = made(tmp_path / "old", "gpt")
    out = run(capfdbinary, "lengthen", old, "--positions", 40, "-o", tmp_path / "new")[0]
    assert "40 positions, window, window 17" in out
    before, after = (Run.open(folder).load_model() for folder in (old, tmp_path / "new"))
    ids = torch.randint(0, 16, (2, 40))
    with torch.no_grad():
        assert_close(after(ids[:, :OLD]), before(ids[:, :OLD]))
        assert after(ids).shape[:2] == (2, 40)
    text, _ = run(capfdbinary, "generate", tmp_path / "new", "--prompt", "the king", "--max-tokens", 30)
    assert len(text) > 20


def test_a_window_and_the_kind_of_attention_can_be_chosen(tmp_path: Path, capfdbinary: Captured) -> None:
    old = made(tmp_path / "old", "gpt")
    options = ("--positions", 40, "--attention", "alternating", "--window", 5)
    assert "alternating, window 5" in run(capfdbinary, "lengthen", old, *options, "-o", tmp_path / "new")[0]
    again, _ = run(capfdbinary, "lengthen", tmp_path / "new", "--positions", 60, "-o", tmp_path / "longer")
    assert "60 positions, alternating, window 5" in again


@pytest.mark.parametrize(
    ("kind", "changed", "options", "told"),
    [
        ("bert", {}, ["--positions", 17], "17 positions are not more than the model's 17"),
        ("bert", {}, ["--positions", 40, "--window", 8], "window 8 is even"),
        ("gpt", {}, ["--positions", 40, "--attention", "longformer"], "is for encoders"),
        ("gpt", {}, ["--positions", 40, "--attention", "full", "--window", 9], "has no window"),
        ("gpt", {"positions": "none"}, ["--positions", 40], "no positions"),
        ("bert", {"attention": "linformer", "projected": 4}, ["--positions", 40], "made for 17 positions"),
        ("bert", {}, [], "--positions is missing"),
    ],
)
def test_a_model_that_cannot_be_lengthened_is_refused(
    kind: str, changed: Any, options: list[Any], told: str, tmp_path: Path, capfdbinary: Captured
) -> None:
    old = made(tmp_path / "old", kind, **changed)
    assert told in fail(capfdbinary, "lengthen", old, *options, "-o", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_translator_is_refused(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    said = fail(capfdbinary, "lengthen", trained, "--positions", 40, "-o", tmp_path / "new")
    assert 'the model "transformer" is not one of bert' in said
