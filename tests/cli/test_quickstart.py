"""The whole story, in a few steps and with few numbers; whether it learns, the real one shows."""

import subprocess
from pathlib import Path

import pytest
from num2words import num2words

from multihead.cli import main
from multihead.text import numbers

FEW = {
    "tokenizer.vocab_size": "331",
    "model.d_model": "16",
    "model.d_ff": "24",
    "model.num_layers": "1",
    "model.num_heads": "2",
    "training.threads": "1",
    "training.batch_tokens": "211",
    "training.log_every": "2",
    "validation.every": "3",
    "search.method": "greedy",
    "search.max_extra": "3",
    "data.cache": "cache",
}


@pytest.fixture(autouse=True)
def few_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Few numbers, in a folder that all tests here share: the second finds the first one's run."""
    monkeypatch.chdir(tmp_path_factory.getbasetemp())
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(numbers, "TRAIN", 211)
    monkeypatch.setattr(numbers, "VALID", 7)
    monkeypatch.setattr(numbers, "TEST", 17)


def story(pair: str, capture: pytest.CaptureFixture[str]) -> str:
    """Run the quickstart with few numbers; return what it tells."""
    keys = [f"--{key}={value}" for key, value in FEW.items()]
    assert main(["quickstart", "--pair", pair, "--steps", "5", *keys]) == 0
    return capture.readouterr().out


@pytest.mark.parametrize(("pair", "word"), [("de-en", "zweiundvierzig"), ("ko-en", "사십이")])
def test_the_story_is_told_whole(pair: str, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = story(pair, capsys)
    assert "of 17 numbers that training never saw are exactly right" in told
    for number in numbers.SAMPLES:
        source, target = (num2words(number, lang=language) for language in pair.split("-"))
        assert f"\n  {source}\n" in told
        assert f"(should be: {target})" in told
    assert f"while it translates {word}" in told
    for name in ("attention.svg", "curves.svg", "model.safetensors", "samples.txt"):
        assert Path(f"runs/quickstart-{pair}/{name}").stat().st_size


def test_the_commands_that_it_ends_with_work(capsys: pytest.CaptureFixture[str]) -> None:
    commands = story("de-en", capsys).split("Try next:\n")[1].strip().split("\n")
    assert len(commands) == 3
    for command in commands:
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "") or "cut after" in done.stderr
        assert done.stdout
