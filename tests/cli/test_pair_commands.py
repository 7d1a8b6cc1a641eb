"""A classifier of pairs of texts from training to use: `train`, `classify`, `evaluate`, `inspect`, Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Captured, fail, run
from watching import Silent

import multihead
from multihead import recipe as recipes
from multihead.data.text_batches import collate_labelled
from multihead.errors import UserError
from multihead.run import Run
from multihead.tasks.classification.text_classifier import TextClassifier
from multihead.tasks.masked.texts import prepare_texts
from multihead.workflows.dry_run import dry_run
from multihead.workflows.train import train

KINDS = ("good", "bad")
PAIRS = [
    (f"{name} is {one} today", f"but {other} {name}", "yes" if other == "good" else "no")
    for name in ("Anna", "Bernd", "Clara", "Dora", "Emil", "Frida", "Gustav")
    for one in KINDS
    for other in KINDS
    for _ in range(3)
]
"""Pairs whose label is the kind in the second text, whatever that in the first is."""
MODEL = {
    "model.max_positions": 16,
    "model.d_model": 16,
    "model.num_heads": 2,
    "model.num_layers": 1,
    "model.d_ff": 24,
    "model.dropout": 0.0,
    "model.attention_dropout": 0.0,
    "data.max_length": 16,
    "data.valid_fraction": 0.2,
    "data.seed": 3,
    "tokenizer.vocab_size": 130,
    "training.steps": 40,
    "training.batch_tokens": 307,
    "training.learning_rate": 0.01,
    "training.warmup_steps": 5,
    "training.average": 1,
    "training.threads": 1,
    "training.log_every": 5,
    "validation.every": 20,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    rows = ["text\tsecond\tlabel", *map("\t".join, PAIRS), "Anna sings\t\tno"]
    (folder / "pairs.tsv").write_text("\n".join(rows), encoding="utf-8")
    return folder


def recipe(folder: Path, **more: object) -> Any:
    given = {
        **MODEL,
        "model.kind": "bert_classifier",
        "data.dir": str(folder),
        "data.files": "pairs.tsv",
        "data.pair_field": "second",
        "data.tests.again": '["pairs.tsv"]',
        **more,
    }
    return recipes.from_toml("", overrides=given)


@pytest.fixture(scope="module")
def trained(folder: Path) -> Path:
    train(recipe(folder), folder / "run", Silent())
    return folder / "run"


def test_a_resumed_training_ends_with_the_same_bytes(folder: Path, trained: Path) -> None:
    def object_at_30(event: dict[str, object]) -> None:
        if event["step"] == 30:
            raise KeyError("pulled the plug")

    with pytest.raises(KeyError):
        train(recipe(folder), folder / "cut", Silent(object_at_30))
    train(recipe(folder), folder / "cut", Silent())
    same = [(path / "model.safetensors").read_bytes() for path in (folder / "cut", trained)]
    assert same[0] == same[1]


def test_a_pair_is_stored_with_its_border_and_read_with_segments(folder: Path) -> None:
    made = recipe(folder)
    texts = prepare_texts(made.data, made.tokenizer, progress=lambda *_: None)
    assert texts.empty == 1
    assert texts.places == (f"{folder}/pairs.tsv:{len(PAIRS) + 2}",)
    batch = collate_labelled(texts.valid, np.arange(len(texts.valid)), texts.tokenizer, 9)
    assert batch.input.lengths_B.max() == 9
    for row, shown in enumerate(texts.samples):
        ids, segments = batch.input.ids_BN[row], batch.input.segments_BN[row]
        first, second = shown.split("\t")
        assert texts.tokenizer.decode(ids[segments == 1].tolist()) == second
        assert first.startswith(texts.tokenizer.decode(ids[segments == 0].tolist()))


def test_tab_separated_pairs_are_classified_in_order(
    trained: Path, folder: Path, capfdbinary: Captured
) -> None:
    lines = ["Anna is bad today\tbut good Anna", "", "Anna is good today\tbut bad Anna"]
    (folder / "some.tsv").write_text("\n".join(lines), encoding="utf-8")
    out, _ = run(capfdbinary, "classify", trained, "-i", folder / "some.tsv", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [f"{row['text']}\t{row['second']}".strip() for row in rows] == lines
    assert [next(iter(row["probabilities"]), None) for row in rows] == ["yes", None, "no"]
    out, _ = run(capfdbinary, "classify", trained, "Emil is bad today\tbut good Emil", "--top", "1")
    assert out.startswith("yes ")


def test_pairs_are_evaluated_and_empty_ones_counted(trained: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "classify", trained, "--tests")
    assert f"{len(PAIRS)} pairs" in out
    assert "1 empty pairs skipped" in out
    found = json.loads(run(capfdbinary, "evaluate", trained, "--json")[0])
    assert found["again"] == {"texts": len(PAIRS), "empty": 1, "accuracy": 1.0, "f1": 1.0}
    file = trained.parent / "pairs.tsv"
    assert json.loads(run(capfdbinary, "evaluate", trained, "--src", file, "--json")[0])[str(file)]["f1"] == 1


def test_the_wrong_kind_of_input_is_a_clear_error(
    trained: Path, folder: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("Anna sings\tAnna\nAnna\n", encoding="utf-8")
    error = fail(capfdbinary, "classify", trained, "-i", lines, "--json")
    assert "lines.txt:2: 1 text, but the model reads pairs. Give two texts with a tab" in error
    assert "text 1: 3 texts, but" in fail(capfdbinary, "classify", trained, "a\tb\tc")
    assert "text: 1 text, but the model reads pairs" in fail(capfdbinary, "inspect", trained, "Anna")
    loaded = multihead.load(trained, task="classification")
    with pytest.raises(UserError, match="text 2: one text, but the model reads pairs"):
        loaded.classify([("a", "b"), "c"])
    single = TextClassifier(loaded.model, loaded.tokenizer, loaded.names, max_length=16, device=loaded.device)
    with pytest.raises(UserError, match="text 1: a pair of texts, but"):
        single.classify([("a", "b")])
    with pytest.raises(UserError, match="a text with a tab, but the model reads single texts"):
        single.read("a\tb", "text 1")
    for header, message in (("text\tlabel", 'no column "second"'), ("text\tsecond\tlabel", "2 columns")):
        lines.write_text(f"{header}\nAnna\tyes\n", encoding="utf-8")
        assert message in fail(capfdbinary, "classify", trained, "--labelled", lines)
    for target, reason in (
        ("huggingface", "no export of bert_classifier"),
        ("page", "cannot express this model"),
    ):
        wanted = tmp_path / f"{target}.html"
        assert reason in fail(capfdbinary, "export", trained, "--to", target, "-o", wanted)
    with pytest.raises(UserError, match="up to 24 positions, but the model has 20"):
        dry_run(recipe(folder, **{"data.max_length": 20, "model.max_positions": 20}), Silent())


def test_a_pair_is_inspected_with_both_of_its_texts(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    numbers = tmp_path / "numbers.json"
    run(capfdbinary, "inspect", trained, "Anna sings\tBernd", "--json", numbers)
    words = json.loads(numbers.read_text(encoding="utf-8"))["words"]
    assert [*filter(None, words)][1:-1] == ["Anna", "sings", words[3], "Bernd"]
    loaded = multihead.load(trained, task="classification")
    assert "Bernd" in loaded.inspect(("Anna sings", "Bernd")).html
    with pytest.raises(UserError, match="the text is empty"):
        loaded.inspect(("Anna", ""))


def test_pairs_start_from_a_masked_language_model(folder: Path, tmp_path: Path) -> None:
    lines = "\n".join(f"{text} {second}" for text, second, _ in PAIRS)
    (tmp_path / "lines.txt").write_text(lines, encoding="utf-8")
    files = {"data.dir": str(tmp_path), "data.files": "lines.txt"}
    short = {"training.steps": 2, "validation.every": 2}
    pretraining = recipes.from_toml("", overrides={**MODEL, **files, **short, "model.kind": "bert"})
    train(pretraining, tmp_path / "pretrained", Silent())
    slow = {**short, "training.learning_rate": 1e-9}
    train(recipe(folder, **slow), tmp_path / "tuned", Silent(), init=tmp_path / "pretrained")
    before, after = (Run.open(tmp_path / name).load_model().state_dict() for name in ("pretrained", "tuned"))
    shared = [name for name in after if name.startswith("encoder.")]
    assert "encoder.segments.weight" in shared
    assert all((before[name] - after[name]).abs().max() < 1e-6 for name in shared)


def test_generated_pairs_need_no_files(capfdbinary: Captured, tmp_path: Path) -> None:
    given = {**MODEL, "training.steps": 2, "data.generate": "same_words", "data.generated": 60}
    given |= {"model.kind": "bert_classifier", "data.generated_tests": 11, "validation.every": 2}
    train(recipes.from_toml("", overrides=given), tmp_path / "made", Silent())
    found = json.loads(run(capfdbinary, "classify", tmp_path / "made", "--tests", "--json")[0])
    assert np.sum(found["generated"]["confusion"]) == 11
