"""Training and evaluation through the Python API."""

import os
import signal
from pathlib import Path

import pytest

import multihead
from multihead.errors import UserError
from multihead.run import Run

TINY = {
    "model.kind": "transformer",
    "model.d_model": 12,
    "model.d_ff": 14,
    "model.num_layers": 1,
    "model.num_heads": 2,
    "tokenizer.vocab_size": 300,
    "training.steps": 2,
    "training.threads": 1,
    "training.warmup_steps": 1,
    "training.batch_tokens": 256,
    "validation.every": 2,
}


def test_a_corpus_is_trained_loaded_and_evaluated(
    corpus: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = corpus
    folder = multihead.train(source=source, target=[target], run=tmp_path / "run", settings=TINY)
    assert folder == tmp_path / "run"
    assert "vocabulary:" in capsys.readouterr().out
    weights = (folder / "model.safetensors").read_bytes()
    assert multihead.train(source=source, target=target, run=folder, settings=TINY, quiet=True) == folder
    assert capsys.readouterr().out == ""
    assert (folder / "model.safetensors").read_bytes() == weights

    [(name, found)] = multihead.evaluate(folder, source=source, target=target, beam_size=2).items()
    assert name == source.name
    lines = source.read_text().splitlines()
    translations = multihead.load(folder).translate(lines, beam_size=2)
    assert found.outputs == [translation.text for translation in translations]
    assert 0 <= found.chrf.value <= 100
    assert found.contaminated


def test_a_recipe_is_trained_in_the_command_lines_default_folder(
    corpus: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = multihead.train("quickstart", source=corpus[0], target=corpus[1], settings=TINY, quiet=True)
    assert folder.parent == Path("runs")
    assert folder.name.startswith("quickstart-")
    fewer = {"training.steps": 2, "training.threads": 1}
    tuned = multihead.train(
        init=folder, source=corpus[0], target=corpus[1], run="runs/tuned", settings=fewer, quiet=True
    )
    assert Run.open(tuned).recipe.name == "quickstart-tuned"


def test_contradictory_arguments_are_user_errors(corpus: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to train on"):
        multihead.train()
    with pytest.raises(UserError, match=r"training\.step\b"):
        multihead.train("quickstart", settings={"training.step": 3}, run=tmp_path / "run")
    with pytest.raises(UserError, match=r"training\.steps: -1 is given"):
        multihead.train("quickstart", settings={"training.steps": -1}, run=tmp_path / "run")
    with pytest.raises(UserError, match="no run folder"):
        multihead.evaluate()
    assert not (tmp_path / "run").exists()


def test_an_interrupted_training_raises_keyboard_interrupt(
    corpus: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(self: object, event: dict[str, object]) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("multihead.workflows.progress_display.ProgressDisplay.on_log", stop)
    keys = {**TINY, "training.steps": 50, "validation.every": 50, "training.log_every": 1}
    with pytest.raises(KeyboardInterrupt, match="after step"):
        multihead.train(source=corpus[0], target=corpus[1], run=tmp_path / "run", settings=keys, quiet=True)
    assert (tmp_path / "run" / "checkpoints").is_dir()
