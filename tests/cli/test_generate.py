"""`multihead generate`, and other commands with a language model."""

import io
import json
import math
import sys
from pathlib import Path

import pytest
import torch
from command_line import Captured, fail, run
from torch.nn.functional import cross_entropy

from multihead.cli import main
from multihead.run import Run


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language")
    (folder / "text.txt").write_text("".join(f"cat {n} sat\n" for n in range(173)), encoding="utf-8")
    settings = {
        "data.files": folder / "text.txt",
        "data.cache": folder / "cache",
        "model.context": 11,
        "model.d_model": 8,
        "model.num_heads": 2,
        "model.num_layers": 1,
        "training.steps": 4,
        "training.warmup_steps": 1,
        "training.threads": 1,
        "validation.every": 4,
        "validation.sample_tokens": 3,
    }
    keys = [part for key, value in settings.items() for part in (f"--{key}", str(value))]
    assert main(["train", "shakespeare-char-cpu", *keys, "--run", str(folder / "run")]) == 0
    return folder / "run"


def test_a_prompt_is_continued(trained: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "generate", trained, "--prompt", "cat 1", "--max-tokens", "5", "--seed", "3")
    assert out.startswith("cat 1")
    assert out.endswith("\n")
    again, _ = run(capfdbinary, "generate", trained, "--prompt", "cat 1", "--max-tokens", "5", "--seed", "3")
    assert again == out
    two, _ = run(capfdbinary, "generate", trained, "-n", "2", "--max-tokens", "5")
    assert two.count("\n---\n") == 1


def test_a_prompt_is_read_from_standard_input(
    trained: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("--max-tokens", "2", "--seed", "3")
    expected, _ = run(capfdbinary, "generate", trained, "--prompt", "cat\ncat\n", *few)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"cat\ncat\n\n")))
    assert run(capfdbinary, "generate", trained, "--prompt", "-", *few)[0] == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"cat\nc\xe4t\n")))
    error = fail(capfdbinary, "generate", trained, "--prompt", "-")
    assert "standard input:2: not UTF-8 (byte 0xE4 at column 2)" in error


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["-n", "0"], "--number 0. Give at least 1."),
        (["--prompt", "Kätzchen"], "characters not in the vocabulary: 'K' 'ä' 'z' 'h' 'e'"),
        (["--prompt", "cat sat cat sat"], "15 tokens; the context length is 11"),
        (["--temperature", "-1"], "--search.temperature"),
        (["--beam-size", "3"], 'unknown option "--beam-size"'),
        (["--temperature", "0", "--top-k", "3"], "--search.top_k: it has no effect at temperature 0"),
    ],
)
def test_invalid_input_is_a_user_error(
    trained: Path, capfdbinary: Captured, arguments: list[str], error: str
) -> None:
    assert error in fail(capfdbinary, "generate", trained, *arguments)


def test_translator_commands_suggest_generate(trained: Path, capfdbinary: Captured) -> None:
    assert f"Use it with `multihead generate {trained}" in fail(capfdbinary, "translate", trained)


@pytest.mark.parametrize("target", ["ctranslate2", "firefox", "onnx", "argos", "sentencepiece"])
def test_exports_of_translators_suggest_generate(
    trained: Path, capfdbinary: Captured, tmp_path: Path, target: str
) -> None:
    error = fail(capfdbinary, "export", trained, "--to", target, "-o", tmp_path / "out")
    assert "trained for text generation and not for translation" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("lines", [1, 29])
def test_the_perplexity_of_a_text_is_that_of_its_windows(
    trained: Path, capfdbinary: Captured, tmp_path: Path, lines: int
) -> None:
    text = "".join(f"cat {n} sat\n" for n in range(300, 300 + lines)) + "Kat"
    (tmp_path / "test.txt").write_text(text, encoding="utf-8")
    out, _ = run(capfdbinary, "evaluate", trained, "--src", tmp_path / "test.txt", "--json")
    (found,) = json.loads(out).values()
    trained_run = Run.open(trained)
    model, tokenizer = trained_run.load_model(torch.device("cpu")).eval(), trained_run.tokenizers()[0]
    ids = torch.tensor(tokenizer.encode(text + "\n"))
    losses, right = [], 0
    for start in range(0, len(ids) - 1, 11):
        window = ids[start : start + 12]
        with torch.no_grad():
            logits = model.hidden(window[None, :-1])[0] @ model.output.weight.T  # type: ignore
        losses += cross_entropy(logits, window[1:], reduction="none").tolist()
        right += int((logits.argmax(-1) == window[1:]).sum())
    assert (found["tokens"], found["unknown"]) == (len(ids) - 1, 1)
    mean = sum(losses) / len(losses)
    assert found["perplexity"] == pytest.approx(math.exp(mean), rel=1e-5)
    bits = mean / math.log(2) * len(ids) / len(text + "\n")
    assert found["bits per character"] == pytest.approx(bits, rel=1e-5)
    assert found["accuracy"] == pytest.approx(right / len(losses))


def test_a_text_to_evaluate_is_named_and_has_two_tokens(
    trained: Path, capfdbinary: Captured, tmp_path: Path
) -> None:
    assert "no test set is named, and the run's recipe has none. Give files with --src." in fail(
        capfdbinary, "evaluate", trained
    )
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    assert "no text in this file" in fail(capfdbinary, "evaluate", trained, "--src", tmp_path / "empty.txt")


def test_the_attention_of_a_language_model_is_inspected(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    out, _ = run(capfdbinary, "inspect", trained, "cat 17 sat", "--words", "--head", "2")
    assert [line.split()[0] for line in out.split("\n")[1:6]] == ["cat", "␣", "17", "␣", "sat"]
    assert "Self-attention, layer 1 of 1, head 2 of 2, subwords merged into words" in out
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    run(capfdbinary, "inspect", trained, "cat 17", "-o", page, "--json", numbers, "--png", tmp_path / "a.png")
    assert "next token" in page.read_text(encoding="utf-8")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    listed = json.loads(numbers.read_text(encoding="utf-8"))
    assert listed["pieces"] == ["c", "a", "t", "␣", "1", "7"]
    assert [len(head) for head in listed["attention"][0]["weights"]] == [6, 6]
    for arguments, error in [
        (["cat", "--target", "sat"], "a language model takes no target"),
        (["cat sat cat sat"], "15 tokens; the context length is 11"),
        (["cat", "--layer", "7"], "there is no layer 7"),
        ([""], "the text is empty"),
    ]:
        assert error in fail(capfdbinary, "inspect", trained, *arguments)


def test_generate_refuses_a_missing_run_folder(tmp_path: Path, capfdbinary: Captured) -> None:
    assert "RUN is missing" in fail(capfdbinary, "generate")
    assert "no such run folder" in fail(capfdbinary, "generate", tmp_path / "none")


def test_help_shows_the_keys_of_the_given_recipe(capfdbinary: Captured) -> None:
    with pytest.raises(SystemExit):
        main(["train", "shakespeare-char-cpu", "--help-all"])
    shown = capfdbinary.readouterr().out.decode()
    assert "--data.files" in shown
    assert "--model.context" in shown
    assert "--data.source" not in shown
    with pytest.raises(SystemExit):
        main(["generate", "--help-all"])
    shown = capfdbinary.readouterr().out.decode()
    assert "--max-tokens" in shown
    assert "--beam-size" not in shown


def test_help_shows_the_keys_of_a_recipe_file(tmp_path: Path, capfdbinary: Captured) -> None:
    own = tmp_path / "own.toml"
    for text, shown in [
        ('extends = "shakespeare-char-cpu"\n', "--data.files"),
        ("[nowhere", "--data.source"),
    ]:
        own.write_text(text)
        capfdbinary.readouterr()
        with pytest.raises(SystemExit):
            main(["train", str(own), "--help-all"])
        keys = {word for word in capfdbinary.readouterr().out.decode().split() if word.startswith("--data.")}
        assert {"--data.files", "--data.source"} & keys == {shown}
