"""BERT from pre-training to classification: training, resuming, `fill` and `classify`."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Captured, fail, run
from watching import Silent

from multihead import recipe as recipes
from multihead.cli import main
from multihead.errors import UserError
from multihead.run import Run
from multihead.workflows.dry_run import dry_run
from multihead.workflows.train import train

LINES = [
    f"the {name} number {n} is {'good' if n % 2 else 'bad'}" for n in range(61) for name in ("cat", "dog")
]
MODEL = {
    "model.max_positions": 32,
    "model.d_model": 12,
    "model.num_heads": 2,
    "model.num_layers": 2,
    "model.d_ff": 14,
    "data.max_length": 32,
    "data.valid_fraction": 0.2,
    "data.dir": "",
    "tokenizer.vocab_size": 130,
    "training.steps": 6,
    "training.batch_tokens": 307,
    "training.warmup_steps": 2,
    "training.log_every": 1,
    "training.threads": 1,
    "validation.every": 3,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    (folder / "lines.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    rows = ["text\tlabel", *(f"{line}\t{int('good' in line)}" for line in LINES), "\t1"]
    (folder / "table.tsv").write_text("\n".join(rows), encoding="utf-8")
    return folder


def pretraining(folder: Path, **more: object) -> Any:
    given = {**MODEL, "data.dir": str(folder), "data.files": "lines.txt", "model.kind": "bert", **more}
    return recipes.from_toml("", overrides=given)


def tuning(folder: Path, **more: object) -> Any:
    given = {
        **MODEL,
        "data.dir": str(folder),
        "data.files": "table.tsv",
        "data.tests.again": '["table.tsv"]',
        "data.class_names": '["bad", "good"]',
        "model.kind": "bert_classifier",
        "training.layer_decay": 0.9,
        **more,
    }
    return recipes.from_toml("", overrides=given)


@pytest.fixture(scope="module")
def pretrained(folder: Path) -> Path:
    train(pretraining(folder), folder / "pretrained", Silent())
    return folder / "pretrained"


@pytest.fixture(scope="module")
def tuned(folder: Path, pretrained: Path) -> Path:
    slow = {"training.learning_rate": 1e-9, "training.final": "last"}
    train(tuning(folder, **slow), folder / "tuned", Silent(), init=pretrained)
    return folder / "tuned"


def test_pretraining_logs_both_objectives_and_resumes_to_the_same_bytes(
    folder: Path, pretrained: Path
) -> None:
    events = [event for event in Run.open(pretrained).metrics() if event["event"] == "validation"]
    assert {"loss", "perplexity", "accuracy", "next_loss", "next_accuracy"} <= events[-1].keys()
    assert "[MASK]" in (pretrained / "samples.txt").read_text(encoding="utf-8")

    def object_at_4(event: dict[str, object]) -> None:
        if event["step"] == 4:
            raise KeyError("pulled the plug")

    with pytest.raises(KeyError):
        train(pretraining(folder), folder / "cut", Silent(object_at_4))
    train(pretraining(folder), folder / "cut", Silent())
    same = [(path / "model.safetensors").read_bytes() for path in (folder / "cut", pretrained)]
    assert same[0] == same[1]


def test_fine_tuning_starts_from_the_encoder_and_the_vocabulary(pretrained: Path, tuned: Path) -> None:
    before, after = (Run.open(run).load_model().state_dict() for run in (pretrained, tuned))
    shared = [name for name in after if name.startswith("encoder.")]
    assert len(shared) > 30
    assert all((before[name] - after[name]).abs().max() < 1e-6 for name in shared)
    assert (pretrained / "tokenizer.json").read_bytes() == (tuned / "tokenizer.json").read_bytes()
    assert Run.open(tuned).recipe.values()["model.class_names"] == ("bad", "good")


def test_a_classifier_learns_and_supports_dry_runs(folder: Path) -> None:
    found = dry_run(tuning(folder), Silent())
    assert found.sizes["classes"] == "bad, good"
    more = {"training.steps": 60, "validation.every": 30, "training.learning_rate": 0.01}
    outcome = train(tuning(folder, **more), folder / "scratch", Silent())
    assert outcome.metrics is not None
    assert outcome.metrics["accuracy"] > 0.9


def test_masks_are_filled_with_probabilities(pretrained: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "fill", pretrained, "the [MASK] number [MASK]", "--json", "--top", "3")
    filled = json.loads(out)
    assert [len(gap) for gap in filled["gaps"]] == [3, 3]
    assert all(0 < guess["probability"] < 1 for gap in filled["gaps"] for guess in gap)
    assert "[MASK]" not in filled["text"]
    out, _ = run(capfdbinary, "fill", pretrained, "the [MASK]")
    assert out.count("%") == 5


def test_texts_are_classified_in_order_with_probabilities(
    tuned: Path, folder: Path, capfdbinary: Captured
) -> None:
    (folder / "some.txt").write_text("the cat\n\nthe dog number 3 is good\n", encoding="utf-8")
    out, _ = run(capfdbinary, "classify", tuned, "-i", folder / "some.txt", "--json")
    rows = [json.loads(line) for line in out.rstrip("\n").split("\n")]
    assert [row["text"] for row in rows] == ["the cat", "", "the dog number 3 is good"]
    assert [len(row["probabilities"]) for row in rows] == [2, 0, 2]
    assert sum(rows[0]["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    out, _ = run(capfdbinary, "classify", tuned, "the cat", "the dog", "--top", "1")
    assert out.count(" %") == out.count("\n") == 2


def test_a_classifier_is_evaluated_and_empty_texts_are_counted(tuned: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "classify", tuned, "--tests")
    assert f"{len(LINES)} texts" in out
    assert "accuracy" in out
    assert f"1 empty texts skipped (first: {tuned.parent}/table.tsv:{len(LINES) + 2})" in out
    out, _ = run(capfdbinary, "classify", tuned, "--labelled", tuned.parent / "table.tsv", "--json")
    (measured,) = json.loads(out).values()
    assert torch.tensor(measured["confusion"]).sum() == len(LINES)
    assert measured["empty"] == 1


def test_the_attention_of_bert_models_is_inspected(
    pretrained: Path, tuned: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    run(capfdbinary, "inspect", pretrained, "the [MASK] number 5", "-o", page, "--json", numbers)
    listed = json.loads(numbers.read_text(encoding="utf-8"))
    assert "[MASK]" in listed["words"]
    assert [guess["question"] for guess in listed["guesses"]] == ["[MASK]"]
    assert len(listed["guesses"][0]["answers"]) == 8
    out, _ = run(capfdbinary, "inspect", pretrained, "the cat", "--words", "--specials", "--head", "1")
    assert len(out.split("\n")[1:]) >= 4  # one row per word, including [CLS] and [SEP]
    run(capfdbinary, "inspect", tuned, "the cat is good " * 20, "-o", page, "--json", numbers)
    assert set(json.loads(numbers.read_text(encoding="utf-8"))["guesses"][0]["answers"]) == {"good", "bad"}
    assert 'the text after its first {} of {} tokens, the limit of the model",30' in page.read_text("utf-8")
    long = "the " + "cat " * 40
    assert "the model takes at most 30" in fail(capfdbinary, "inspect", pretrained, long)


def test_invalid_input_is_a_user_error(
    pretrained: Path, tuned: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    assert "no [MASK] in the text" in fail(capfdbinary, "fill", pretrained, "the cat")
    long = "the [MASK] " + "cat " * 40
    assert "tokens; the model accepts at most 30" in fail(capfdbinary, "fill", pretrained, long)
    assert f"Use it with `multihead classify {tuned}" in fail(capfdbinary, "fill", tuned, "the [MASK]")
    assert f"Use it with `multihead fill {pretrained}" in fail(capfdbinary, "classify", pretrained, "cat")
    (tmp_path / "odd.tsv").write_text("text\tlabel\ncat\t3\n", encoding="utf-8")
    odd = fail(capfdbinary, "classify", tuned, "--labelled", tmp_path / "odd.tsv")
    assert 'odd.tsv:2: unknown class "3". Known: 0, 1.' in odd


def test_sizes_other_than_those_of_the_initial_run_are_refused(
    folder: Path, pretrained: Path, capfdbinary: Captured
) -> None:
    files = ["--data.files", folder / "table.tsv", "--data.text_field", "text", "--training.threads", "1"]
    error = fail_after_preparing(
        capfdbinary, "train", "nsmc-classify", *files, "--init", pretrained, "--run", folder / "x"
    )
    assert "its weights do not fit this recipe's model" in error


def fail_after_preparing(capture: Captured, *arguments: object) -> str:
    """Run a command that fails after it has written output, and return its error."""
    capture.readouterr()
    assert main([str(argument) for argument in arguments]) == 2
    return capture.readouterr().err.decode()


def test_sample_texts_longer_than_the_model_are_truncated(folder: Path, tmp_path: Path) -> None:
    words = "".join(
        f"{'abcdefgh'[n % 8] * 7} the cat number {n} is good enough for me today\n" for n in range(61)
    )
    (tmp_path / "words.txt").write_text(words, encoding="utf-8")
    short = {
        "data.max_length": 16,
        "model.max_positions": 16,
        "tokenizer.kind": "chars",
        "tokenizer.vocab_size": 300,
    }
    outcome = train(pretraining(tmp_path, **{"data.files": "words.txt", **short}), tmp_path / "run", Silent())
    assert outcome.status == "finished"


def test_duplicate_class_names_are_refused(folder: Path) -> None:
    with pytest.raises(UserError, match=r"class_names.*'x' is repeated"):
        tuning(folder, **{"data.class_names": '["x", "x"]'})
