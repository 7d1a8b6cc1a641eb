"""The quickstart with few steps and few numbers. It is too short to learn anything."""

import subprocess
from pathlib import Path

import pytest
from command_line import fail

from multihead import recipe as recipes
from multihead.apps.studies.equal_size import parameters
from multihead.cli import _page, main
from multihead.cli import quickstart as quickstart_command
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
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
    """Use few numbers, in a folder shared by all tests here, so that later tests find the first one's run."""
    monkeypatch.chdir(tmp_path_factory.getbasetemp())
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(numbers, "TRAIN", 211)
    monkeypatch.setattr(numbers, "VALID", 7)
    monkeypatch.setattr(numbers, "TEST", 17)


def quickstart(pair: str, capture: pytest.CaptureFixture[str]) -> str:
    """Run the quickstart with few numbers and return its output."""
    keys = [f"--{key}={value}" for key, value in FEW.items()]
    assert main(["quickstart", "--pair", pair, "--steps", "5", *keys]) == 0
    return capture.readouterr().out


@pytest.mark.parametrize(("pair", "word"), [("de-en", "zweiundvierzig"), ("ko-en", "사십이")])
def test_the_quickstart_trains_evaluates_and_inspects(
    pair: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = quickstart(pair, capsys)
    assert "of 17 held-out numbers are translated correctly" in out
    for number in numbers.SAMPLES:
        source, target = (numbers.WORDS[language](number) for language in pair.split("-"))
        assert f"\n  {source}\n" in out
        assert f"(should be: {target})" in out
    assert f" to {word} (" in out
    for name in ("attention.svg", "curves.svg", "model.safetensors", "samples.txt", "live.html"):
        assert Path(f"runs/quickstart-{pair}/{name}").stat().st_size
    assert out.rstrip().endswith(Path(f"runs/quickstart-{pair}/live.html").resolve().as_uri())


def test_the_suggested_commands_work(capsys: pytest.CaptureFixture[str]) -> None:
    commands = quickstart("de-en", capsys).split("Try next:\n")[1].split("\n\n")[0].strip().split("\n")
    assert len(commands) == 3
    for command in commands:
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "") or "cut after" in done.stderr
        assert done.stdout


@pytest.mark.parametrize("kind", ["seq2seq", "rnn_attention", "conv_s2s"])
def test_another_model_is_as_large_as_the_transformer(kind: str) -> None:
    def size(recipe: Recipe[Settings]) -> int:
        return parameters(recipe.kind, recipe.model, recipe.tokenizer.vocab_size)

    recipe = quickstart_command._recipe(quickstart_command.Options(), {"model.kind": kind})
    assert recipe.kind == kind
    assert 0.9 < size(recipe) / size(recipes.load("quickstart")) < 1.1
    assert recipe.training.learning_rate < recipes.load("quickstart").training.learning_rate
    asked = quickstart_command._recipe(
        quickstart_command.Options(), {"model.kind": kind, "model.d_embedding": "24"}
    )
    assert asked.model.model_dump()["d_embedding"] == 24


def test_a_model_without_attention_gets_to_the_end_of_the_story(
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = {key: value for key, value in FEW.items() if not key.startswith("model.")}
    own |= {"model.kind": "seq2seq", "model.d_hidden": "16", "model.d_embedding": "8"}
    keys = [f"--{key}={value}" for key, value in own.items()]
    assert main(["quickstart", "--steps", "3", "--run", "runs/lstm", *keys]) == 0
    told = capsys.readouterr().out
    assert "has no attention over the source" in told
    assert "multihead inspect" not in told.split("Try next:")[1]
    assert "no live page: a page cannot express this model" in told


def test_a_model_that_does_not_translate_is_refused(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    told = fail(capfdbinary, "quickstart", "--model.kind", "gpt")
    assert '--model.kind: the quickstart trains a translator, and "gpt" is for text generation' in told


def test_a_page_is_opened_where_there_is_a_desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses: list[str] = []

    def open_page(address: str) -> bool:
        addresses.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", open_page)
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not _page.open_on_desktop("file:///without")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert _page.open_on_desktop("file:///with")
    assert addresses == ["file:///with"]
