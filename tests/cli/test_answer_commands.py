"""Answers by spans from training to use: `train`, `answer`, `evaluate`, `inspect`, and Python."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Captured, fail, run
from watching import Silent

import multihead
from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.run import Run
from multihead.tasks.spans.answerer import Answerer
from multihead.workflows.train import train

PLACES = ("Seoul", "Köln", "𝔘𝔩𝔪", "Busan")
NAMES = ("Anna", "Bernd", "Clara")
QUESTIONS = [
    (name, f"{name} lives in {place}, {other} in Mainz.", place)
    for name in NAMES
    for place in PLACES
    for other in NAMES
    if other != name
] + [("Zoe", f"{name} lives in {place}.", "") for name in NAMES for place in PLACES]
MODEL = {
    "model.max_positions": 32,
    "model.d_model": 16,
    "model.num_heads": 2,
    "model.num_layers": 1,
    "model.dropout": 0.0,
    "model.attention_dropout": 0.0,
    "data.max_length": 24,
    "tokenizer.vocab_size": 90,
    "training.batch_tokens": 307,
    "training.learning_rate": 0.01,
    "training.warmup_steps": 5,
    "training.average": 1,
    "training.threads": 1,
    "training.log_every": 5,
    "training.steps": 60,
    "validation.every": 30,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    rows = ["question\ttext\tanswer", *map("\t".join, QUESTIONS)]
    (folder / "train.tsv").write_text("\n".join(rows), encoding="utf-8")
    return folder


def recipe(folder: Path, **more: object) -> Any:
    given = {
        **MODEL,
        "model.kind": "bert_spans",
        "data.dir": str(folder),
        "data.files": "train.tsv",
        "data.valid_files": "train.tsv",
        "data.tests.again": '["train.tsv"]',
        "data.stride": 8,
        "data.max_question": 4,
        **more,
    }
    return recipes.from_toml("", overrides=given)


@pytest.fixture(scope="module")
def trained(folder: Path) -> Path:
    outcome = train(recipe(folder), folder / "run", Silent())
    assert outcome.metrics is not None
    assert outcome.metrics["exact"] == 1.0
    return folder / "run"


def test_a_resumed_training_ends_with_the_same_bytes(folder: Path, trained: Path) -> None:
    def object_at_40(event: dict[str, object]) -> None:
        if event["step"] == 40:
            raise KeyError("pulled the plug")

    with pytest.raises(KeyError):
        train(recipe(folder), folder / "cut", Silent(object_at_40))
    train(recipe(folder), folder / "cut", Silent())
    same = [(path / "model.safetensors").read_bytes() for path in (folder / "cut", trained)]
    assert same[0] == same[1]


def test_answers_are_the_very_characters_of_the_text(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    text = "Anna  lives in 𝔘𝔩𝔪."
    assert run(capfdbinary, "answer", trained, "--question", "Anna", text)[0] == "𝔘𝔩𝔪\n"
    lines = tmp_path / "lines.tsv"
    lines.write_text(f"Anna\t{text}\nZoe\t{text}\nAnna\t\n", encoding="utf-8")
    out, _ = run(capfdbinary, "answer", trained, "-i", lines, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["answer"] for row in rows] == ["𝔘𝔩𝔪", "", ""]
    assert text[rows[0]["start"] : rows[0]["end"]] == "𝔘𝔩𝔪"
    assert rows[0]["score"] > 0 > rows[1]["score"]
    assert (rows[1]["start"], rows[2]["score"]) == (None, None)
    written = tmp_path / "out.txt"
    run(capfdbinary, "answer", trained, "-i", lines, "-o", written, "--threshold", "1000")
    assert written.read_text(encoding="utf-8") == "\n\n\n"
    # A text without tokens has no answer, whatever the threshold.
    out, _ = run(capfdbinary, "answer", trained, "-i", lines, "--threshold", "-1000")
    assert [bool(line) for line in out.split("\n")] == [True, True, False, False]


def test_a_long_text_is_read_in_windows(trained: Path) -> None:
    answerer = multihead.load(trained, task="spans")
    filler = "Mainz, Mainz. " * 40
    text = f"{filler}Anna lives in Busan. {filler}"
    (found,) = answerer.answer([("Anna", text)])
    assert found.text == "Busan"
    assert text[found.start : found.end] == "Busan"
    assert answerer.answer([]) == []


def test_test_sets_and_files_are_evaluated(trained: Path, folder: Path, capfdbinary: Captured) -> None:
    found = json.loads(run(capfdbinary, "evaluate", trained, "--json")[0])["again"]
    assert found == {"questions": len(QUESTIONS), "answerable": 24, "exact": 1.0, "f1": 1.0}
    other = folder / "other.tsv"
    rows = ["question\ttext\tanswer", "Anna\tAnna lives in Köln.\tin Köln", "Zoe\tAnna lives in Köln.\tKöln"]
    other.write_text("\n".join(rows), encoding="utf-8")
    found = json.loads(run(capfdbinary, "evaluate", trained, "--src", other, "--json")[0])[str(other)]
    assert found["exact"] == 0.0
    assert found["f1"] == pytest.approx(1 / 3)  # (2/3 + 0) / 2


def test_bad_input_is_a_clear_error(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    lines = tmp_path / "lines.tsv"
    lines.write_text("Anna\tAnna lives.\nno tab\n", encoding="utf-8")
    assert "lines.tsv:2: no tab, and no question" in fail(capfdbinary, "answer", trained, "-i", lines)
    lines.write_text(" \tAnna lives.\n", encoding="utf-8")
    assert "lines.tsv:1: no question" in fail(capfdbinary, "answer", trained, "-i", lines)
    assert "--question: no question" in fail(capfdbinary, "answer", trained, "--question", "", "Anna")
    assert "exclude each other" in fail(capfdbinary, "answer", trained, "Anna", "-i", lines)
    assert "RUN is missing" in fail(capfdbinary, "answer")
    assert "trained for question answering" in fail(capfdbinary, "tag", trained, "Anna")
    lines.write_text("question\ttext\tanswer\nAnna\tAnna lives.\tSeoul\n", encoding="utf-8")
    error = fail(capfdbinary, "evaluate", trained, "--src", lines)
    assert 'lines.tsv:2: the answer "Seoul" is not in the text' in error
    for target, reason in (("huggingface", "no export of bert_spans"), ("page", "cannot express this model")):
        wanted = tmp_path / f"{target}.html"
        assert reason in fail(capfdbinary, "export", trained, "--to", target, "-o", wanted)
    with pytest.raises(UserError, match='question 2: the question "▁" has no words'):
        Answerer.load(trained).answer([("Anna", "Anna"), ("▁", "Anna")])


def test_question_and_text_are_inspected(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    numbers = tmp_path / "numbers.json"
    run(capfdbinary, "inspect", trained, "Anna\tAnna lives in Seoul.", "--json", numbers)
    listed = json.loads(numbers.read_text(encoding="utf-8"))
    assert listed["guesses"][0]["question"] == "answer"
    assert list(listed["guesses"][0]["answers"]) == ["Seoul"]
    assert "a question and a text" in fail(capfdbinary, "inspect", trained, "Anna")
    page = multihead.load(trained, task="spans").inspect("Zoe", "Anna lives in Seoul. " * 9)
    assert "(none)" in page.html
    assert "the limit of the model" in page.html


def test_spans_start_from_a_masked_language_model(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("\n".join(text for _, text, _ in QUESTIONS), encoding="utf-8")
    files = {"data.dir": str(tmp_path), "data.files": "lines.txt", "data.valid_fraction": 0.2}
    short = {"training.steps": 2, "validation.every": 2}
    pretraining = recipes.from_toml("", overrides={**MODEL, **files, **short, "model.kind": "bert"})
    train(pretraining, tmp_path / "pretrained", Silent())
    slow = {**short, "training.learning_rate": 1e-9}
    train(recipe(folder, **slow), tmp_path / "tuned", Silent(), init=tmp_path / "pretrained")
    before, after = (Run.open(tmp_path / name).load_model().state_dict() for name in ("pretrained", "tuned"))
    shared = [name for name in after if name.startswith("encoder.")]
    assert len(shared) > 15
    assert all((before[name] - after[name]).abs().max() < 1e-6 for name in shared)


def test_a_model_of_texts_that_all_have_an_answer_always_gives_one(folder: Path, tmp_path: Path) -> None:
    rows = ["question\ttext\tanswer", *("\t".join(one) for one in QUESTIONS if one[2])]
    (tmp_path / "all.tsv").write_text("\n".join(rows), encoding="utf-8")
    files = {"data.files": str(tmp_path / "all.tsv"), "data.valid_files": str(tmp_path / "all.tsv")}
    train(recipe(folder, **files, **{"training.steps": 2}), tmp_path / "run", Silent())
    (found,) = Answerer.load(tmp_path / "run").answer([("Zoe", "Anna lives in Seoul.")])
    assert found.text in "Anna lives in Seoul."
    assert found.text


def test_generated_questions_need_no_files(capfdbinary: Captured, tmp_path: Path) -> None:
    given = {**MODEL, "training.steps": 2, "data.generate": "key_values", "data.generated": 60}
    given |= {"model.kind": "bert_spans", "data.generated_tests": 11, "data.length": 2}
    given |= {"data.max_question": 5, "data.stride": 8, "validation.every": 2}
    train(recipes.from_toml("", overrides=given), tmp_path / "made", Silent())
    found = json.loads(run(capfdbinary, "evaluate", tmp_path / "made", "--json")[0])
    assert found["generated"]["questions"] == 11
