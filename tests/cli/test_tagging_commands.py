"""A tagger from training to use: `train`, `tag`, `evaluate`, `inspect`, and Python."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Captured, fail, run
from watching import Silent

import multihead
from multihead import recipe as recipes
from multihead.batch import Input
from multihead.errors import UserError
from multihead.models import bert_tagger
from multihead.run import Run
from multihead.tasks.masked.settings import TokenizerSettings
from multihead.tasks.tagging.settings import DataSettings
from multihead.tasks.tagging.tagged import generate, generated_test_sentences, prepare_tags
from multihead.tasks.tagging.tagger import Tagger
from multihead.workflows.dry_run import dry_run
from multihead.workflows.train import train

NAMES = {"Anna": "B-PER", "Bernhard": "B-PER", "Berlin": "B-LOC", "Seoul": "B-LOC"}
SENTENCES = [
    [(name, tag), (verb, "O"), ("in", "O"), (place, NAMES[place])]
    for name, tag in NAMES.items()
    for verb in ("wohnt", "arbeitet", "schläft", "singt", "lacht")
    for place in ("Berlin", "Seoul")
]
MODEL = {
    "model.kind": "bert_tagger",
    "model.max_positions": 24,
    "model.d_model": 16,
    "model.num_heads": 2,
    "model.num_layers": 1,
    "model.dropout": 0.0,
    "data.max_length": 24,
    "tokenizer.vocab_size": 60,
    "training.batch_tokens": 307,
    "training.threads": 1,
    "training.log_every": 5,
    "training.average": 1,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tags")
    lines = ["".join(f"{word}\t{tag}\n" for word, tag in sentence) for sentence in SENTENCES]
    (folder / "train.conll").write_text("\n".join(lines), encoding="utf-8")
    return folder


def recipe(folder: Path, **more: object) -> Any:
    given = {
        **MODEL,
        "data.dir": str(folder),
        "data.files": "train.conll",
        "data.valid_files": "train.conll",
        "data.tests.again": '["train.conll"]',
        "training.steps": 60,
        "training.learning_rate": 0.01,
        "training.warmup_steps": 5,
        "validation.every": 30,
        **more,
    }
    return recipes.from_toml("", overrides=given)


@pytest.fixture(scope="module")
def tagger(folder: Path) -> Path:
    outcome = train(recipe(folder), folder / "run", Silent())
    assert outcome.metrics is not None
    assert outcome.metrics["f1"] == 1.0
    return folder / "run"


def test_a_resumed_training_ends_with_the_same_bytes(folder: Path, tagger: Path) -> None:
    def object_at_40(event: dict[str, object]) -> None:
        if event["step"] == 40:
            raise KeyError("pulled the plug")

    with pytest.raises(KeyError):
        train(recipe(folder), folder / "cut", Silent(object_at_40))
    train(recipe(folder), folder / "cut", Silent())
    same = [(path / "model.safetensors").read_bytes() for path in (folder / "cut", tagger)]
    assert same[0] == same[1]


def test_words_are_tagged_as_columns_and_as_json(tagger: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "tag", tagger, "Anna  wohnt in Seoul")
    assert out == "Anna\tB-PER\nwohnt\tO\nin\tO\nSeoul\tB-LOC\n\n"
    lines = tmp_path / "lines.txt"
    lines.write_text("Bernhard lacht\n\nBerlin\n", encoding="utf-8")
    out, _ = run(capfdbinary, "tag", tagger, "-i", lines, "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert found[0] == {"words": ["Bernhard", "lacht"], "tags": ["B-PER", "O"]}
    assert found[1] == {"words": [], "tags": []}
    written = tmp_path / "out.conll"
    run(capfdbinary, "tag", tagger, "-i", lines, "-o", written)
    assert written.read_text(encoding="utf-8") == "Bernhard\tB-PER\nlacht\tO\n\n\nBerlin\tB-LOC\n\n"


def test_test_sets_and_files_are_evaluated(tagger: Path, folder: Path, capfdbinary: Captured) -> None:
    found = json.loads(run(capfdbinary, "evaluate", tagger, "--json")[0])
    assert found["again"]["sentences"] == len(SENTENCES)
    assert found["again"]["f1"] == found["again"]["exact"] == 1.0
    other = folder / "other.conll"
    other.write_text("Anna\tB-LOC\nlacht\tO\n\nSeoul\tB-LOC\n", encoding="utf-8")
    found = json.loads(run(capfdbinary, "evaluate", tagger, "--src", other, "--json")[0])[str(other)]
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["f1"] == found["exact"] == 0.5
    assert "f1" in run(capfdbinary, "evaluate", tagger)[0]


def test_a_broken_file_is_a_clear_error_with_its_place(
    tagger: Path, folder: Path, capfdbinary: Captured
) -> None:
    broken = folder / "broken.conll"
    broken.write_text("Anna\tB-PER\nlacht\n", encoding="utf-8")
    assert "broken.conll:2: 1 columns, but" in fail(capfdbinary, "evaluate", tagger, "--src", broken)
    broken.write_text("Anna\tB-ORG\n", encoding="utf-8")
    assert 'broken.conll:1: unknown tag "B-ORG"' in fail(capfdbinary, "evaluate", tagger, "--src", broken)
    assert "has no effect" in fail(capfdbinary, "evaluate", tagger, "--perturb", "trim")
    assert "has no effect" in fail(capfdbinary, "evaluate", tagger, "--beam-size", "2")
    assert "exclude each other" in fail(capfdbinary, "tag", tagger, "Anna", "-i", broken)
    assert "trained for tagging" in fail(capfdbinary, "translate", tagger, "-i", broken)


def test_a_tagger_is_inspected_and_loaded(tagger: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    run(capfdbinary, "inspect", tagger, "Anna lacht", "-o", tmp_path / "page.html")
    assert "B-PER" in (tmp_path / "page.html").read_text(encoding="utf-8")
    loaded = multihead.load(tagger, task="tagging")
    assert loaded.tag([["Anna", "lacht"], [], ["Seoul"]]) == [["B-PER", "O"], [], ["B-LOC"]]
    assert "B-LOC" in loaded.inspect("Seoul lacht").html


def test_a_long_sentence_is_tagged_in_parts(tagger: Path) -> None:
    words = ["Anna", "lacht", "in", "Seoul"] * 31 + ["x" * 400, "Berlin"]
    (tags,) = Tagger.load(tagger).tag([words])
    assert len(tags) == len(words)
    assert tags[:4] == ["B-PER", "O", "O", "B-LOC"]


def test_a_word_without_pieces_gets_a_tag(tagger: Path) -> None:
    (tags,) = Tagger.load(tagger).tag([["Anna", "\u2581", "鰯"]])
    assert len(tags) == 3


def test_inputs_longer_than_the_positions_are_refused(folder: Path) -> None:
    with pytest.raises(UserError, match="up to 24 positions, but the model has 20"):
        dry_run(recipe(folder, **{"data.max_length": 20, "model.max_positions": 20}), Silent())


def test_a_tagger_starts_from_a_masked_language_model(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text(
        "\n".join(" ".join(word for word, _ in one) for one in SENTENCES), encoding="utf-8"
    )
    shared = {key: value for key, value in MODEL.items() if key != "model.kind"}
    given = {
        **shared,
        "model.kind": "bert",
        "data.dir": str(tmp_path),
        "data.files": "lines.txt",
        "data.valid_fraction": 0.2,
        "training.steps": 2,
        "validation.every": 2,
    }
    train(recipes.from_toml("", overrides=given), tmp_path / "pretrained", Silent())
    slow = {"training.learning_rate": 1e-9, "training.steps": 2, "validation.every": 2}
    train(recipe(folder, **slow), tmp_path / "tuned", Silent(), init=tmp_path / "pretrained")
    before, after = (Run.open(tmp_path / name).load_model().state_dict() for name in ("pretrained", "tuned"))
    shared_names = [name for name in after if name.startswith("encoder.")]
    assert len(shared_names) > 15
    assert all((before[name] - after[name]).abs().max() < 1e-6 for name in shared_names)


@pytest.mark.parametrize("kind", ["reversal", "sorting"])
def test_generated_sequences_are_reversed_or_sorted(kind: str) -> None:
    data = DataSettings.model_validate({"generate": kind, "length": 11, "generated_tests": 7})
    for sentence in generate(data, 13, 5):
        digits = [*map(int, sentence.words)]
        wanted = digits[::-1] if kind == "reversal" else sorted(digits)
        assert [*map(int, sentence.tags)] == wanted
    other = data.model_copy(update={"seed": 99})
    assert [*generated_test_sentences(data)] == [*generated_test_sentences(other)]


def test_the_first_token_of_a_word_carries_its_tag(folder: Path) -> None:
    data = DataSettings(dir=str(folder), files=("train.conll",), valid_files=("train.conll",))
    prepared = prepare_tags(data, TokenizerSettings(kind="chars", vocab_size=400), progress=lambda *_: None)
    rows = torch.tensor([0, 3]).numpy()
    batch = prepared.train.batch(rows, prepared.tokenizer, 40)
    assert batch.tagged == (batch.tags_BN >= 0).sum() == 8
    for row in range(2):
        begins = batch.tags_BN[row] >= 0
        firsts = [prepared.tokenizer.piece(id) for id in batch.input.ids_BN[row][begins].tolist()]
        assert all(piece.startswith("▁") for piece in firsts)
        words = prepared.train.sentences[rows[row]].tags
        assert [prepared.names[tag] for tag in batch.tags_BN[row][begins].tolist()] == [*words]


def test_padding_changes_no_logits() -> None:
    torch.manual_seed(2)
    sizes = {"vocab_size": 31, "max_positions": 24, "d_model": 12, "num_layers": 2, "num_heads": 3}
    model = bert_tagger.Model(bert_tagger.Settings.model_validate({**sizes, "classes": 5})).eval()
    ids = torch.randint(4, 31, (2, 17))
    lengths = torch.tensor([17, 11])
    read = Input(ids, torch.zeros_like(ids), lengths)
    short = Input(ids[1:, :11], torch.zeros(1, 11, dtype=torch.long), lengths[1:])
    torch.testing.assert_close(model(read)[1:, :11], model(short), rtol=1e-4, atol=1e-5)
