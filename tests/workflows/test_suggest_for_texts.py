"""Settings of classifiers and taggers by the corpus, where a recipe leaves them open."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from watching import Silent

from multihead import recipe as recipes
from multihead.apps.studies.sweep.plan import read_sweep
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.workflows import suggested_texts
from multihead.workflows.resolve_recipe import resolve_recipe
from multihead.workflows.train import train

WORDS = ["good", "bad", "film", "actor", "music", "story", "never", "again", "wonderful", "boring"]
SHORT = {"training.steps": 4, "validation.every": 2, "training.threads": 1}

BAG = """
from torch import nn
from multihead.nn.losses import LossTerm, smoothed_cross_entropy
from multihead.recipe import settings

TASK = "classification"


class Settings(settings.Settings):
    vocab_size: int = 7
    classes: int = 2
    class_names: tuple[str, ...] = ()
    d_model: int = 5


class Model(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.words = nn.EmbeddingBag(settings.vocab_size, settings.d_model)
        self.output = nn.Linear(settings.d_model, settings.classes)

    def forward(self, read):
        return self.output(self.words(read.ids_BN))

    def loss(self, batch, step):
        loss, _, correct = smoothed_cross_entropy(self(batch.input), batch.labels_B, 0.0)
        return {"loss": LossTerm(1.0, loss, per="texts"), "accuracy": LossTerm(0.0, correct, per="texts")}
"""


def recipe(name: str, given: Mapping[str, object], **more: Any) -> Recipe[Settings]:
    return resolve_recipe(name, {}, given, **{"run": None, "init": None, **more})


def write_texts(path: Path, count: int, labels: list[str], words: int = 7) -> dict[str, object]:
    chance = random.Random(3)
    rows = [
        f"{' '.join(chance.choices(WORDS, k=words))} {number}\t{labels[number % len(labels)]}"
        for number in range(count)
    ]
    path.write_text("\n".join(["text\tlabel", *rows]) + "\n", encoding="utf-8")
    return {"data.files": str(path), "data.cache": str(path.parent / "cache")}


def write_tags(
    path: Path, count: int, words: int = 5, tags: tuple[str, ...] = ("A", "B")
) -> dict[str, object]:
    chance = random.Random(5)
    sentences = [
        "".join(f"{chance.choice(WORDS)}{number}\t{tags[number % len(tags)]}\n" for _ in range(words))
        for number in range(count)
    ]
    path.write_text("\n".join(sentences), encoding="utf-8")
    return {"data.files": str(path)}


def test_more_texts_make_a_larger_model_with_less_dropout(tmp_path: Path) -> None:
    few, many = (
        recipe("small-bert-classes", write_texts(tmp_path / f"{count}.tsv", count, ["x", "y"], words=30))
        for count in (101, 23_003)
    )
    assert few.model.d_model <= many.model.d_model  # type: ignore[attr-defined]
    assert few.model.dropout > many.model.dropout  # type: ignore[attr-defined]
    assert few.training.batch_tokens < many.training.batch_tokens
    assert few.training.schedule == "wsd"
    assert few.validation.patience > 0
    assert few.reasons["model.d_model"].startswith("101 texts")


def test_what_the_user_types_stays_and_decides_what_depends_on_it(tmp_path: Path) -> None:
    given = write_texts(tmp_path / "a.tsv", 53, ["x", "y"])
    typed = {"tokenizer.kind": "wordpiece", "model.d_model": 60, "training.steps": 37, "data.max_length": 41}
    made = recipe("small-bert-classes", {**given, **typed})
    assert {key: made.values()[key] for key in typed} == typed
    assert made.tokenizer.dropout == 0
    assert made.model.max_positions == 48  # type: ignore[attr-defined]
    assert made.training.warmup_steps <= 3
    assert made.validation.every <= 37
    assert "model.d_model" not in made.reasons


@pytest.mark.parametrize(("tags", "metric"), [(("NOUN", "VERB"), "accuracy"), (("O", "B-PER"), "f1")])
def test_spans_are_validated_by_f1_and_other_tags_by_accuracy(
    tmp_path: Path, tags: tuple[str, ...], metric: str
) -> None:
    made = recipe("small-bert-tags", write_tags(tmp_path / "a.conll", 20, tags=tags))
    assert made.validation.metric == metric


def test_a_recipe_that_names_its_updates_is_left_as_it_is(tmp_path: Path) -> None:
    given = write_texts(tmp_path / "a.tsv", 53, ["x", "y"])
    made = recipe("nsmc-classify", given)
    assert made.training == recipes.load("nsmc-classify").training
    assert not made.reasons


def test_pairs_are_matched_exactly_and_single_texts_are_not(tmp_path: Path) -> None:
    rows = [f"good film {number}\tbad film {number}\t{number % 2}" for number in range(50)]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(["text\tsecond\tlabel", *rows]) + "\n", encoding="utf-8")
    pairs = recipe("small-bert-pairs", {"data.files": str(path)})
    assert pairs.model.exact_match  # type: ignore[attr-defined]
    single = recipe("small-bert-classes", {"data.files": str(path)})
    assert not single.model.exact_match  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [1, 5])
@pytest.mark.parametrize("count", [10, 31])
def test_a_tagger_trains_on_few_and_short_sentences(tmp_path: Path, count: int, words: int) -> None:
    made = recipe("small-bert-tags", {**write_tags(tmp_path / "a.conll", count, words), **SHORT})
    assert made.data.max_length >= 16
    assert made.model.positions == "relative"  # type: ignore[attr-defined]
    assert train(made, tmp_path / "run", Silent()).status == "finished"


@pytest.mark.parametrize("labels", [["x", "y"], [*"abcdefghij"]], ids=["two classes", "a class a text"])
@pytest.mark.parametrize("words", [0, 7], ids=["texts of one token", "texts of eight"])
def test_a_classifier_trains_on_ten_texts(tmp_path: Path, labels: list[str], words: int) -> None:
    made = recipe("small-bert-classes", {**write_texts(tmp_path / "a.tsv", 10, labels, words), **SHORT})
    assert train(made, tmp_path / "run", Silent()).status == "finished"


@pytest.mark.parametrize("name", ["small-bert-classes", "small-bert-tags"])
def test_files_without_text_and_no_files_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "empty.tsv"
    path.write_text("text\tlabel\n \tx\n" if name.endswith("classes") else "\n\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"no text|no sentence"):
        recipe(name, {"data.files": str(path)})
    with pytest.raises(UserError, match="no files are named"):
        train(recipe(name, {}), tmp_path / "run", Silent())


def test_a_run_that_exists_keeps_its_settings_whatever_its_files_have_become(tmp_path: Path) -> None:
    given = {**write_tags(tmp_path / "a.conll", 31), **SHORT}
    first = recipe("small-bert-tags", given)
    train(first, tmp_path / "run", Silent())
    write_tags(tmp_path / "a.conll", 3_001, words=29)
    again = recipe("small-bert-tags", given, run=tmp_path / "run")
    assert (again.data, again.tokenizer, again.validation) == (first.data, first.tokenizer, first.validation)
    write_tags(tmp_path / "a.conll", 31)
    assert train(again, tmp_path / "run", Silent()).progress.step == 4


def test_fine_tuning_takes_the_sizes_and_the_vocabulary_of_the_trained_model(tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(f"{word} film {number}" for number in range(40) for word in WORDS), "utf-8")
    sizes = {"model.d_model": 24, "model.num_heads": 3, "model.num_layers": 1, "model.max_positions": 32}
    pretraining = {"data.files": str(texts), "data.max_length": 32, "tokenizer.vocab_size": 150, **sizes}
    cache = {"data.cache": str(tmp_path / "cache"), **SHORT}
    train(recipe("small-bert", {**pretraining, **cache}), tmp_path / "texts", Silent())
    given = {**write_texts(tmp_path / "a.tsv", 53, ["x", "y"]), **SHORT}
    made = recipe("small-bert-classes", given, init=tmp_path / "texts")
    assert {key: made.values()[key] for key in sizes} == sizes
    assert made.tokenizer.dropout == 0  # WordPiece has no merges to leave out
    outcome = train(made, tmp_path / "run", Silent(), init=tmp_path / "texts")
    assert outcome.status == "finished"


def test_little_time_means_small_batches_and_a_short_warm_up_but_as_much_dropout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggested_texts, "text_speed", lambda recipe, length: 1000.0)
    given = write_texts(tmp_path / "a.tsv", 5_003, ["x", "y"], words=23)
    long, short = (recipe("small-bert-classes", {**given, "training.minutes": n}) for n in (600, 2))
    assert short.tokenizer.dropout == long.tokenizer.dropout == 0.1
    assert short.model == long.model
    assert short.training.batch_tokens == 1024 < long.training.batch_tokens
    assert short.training.warmup_steps < long.training.warmup_steps
    assert "the time is enough for about 99 updates, 0.6 epochs" in short.reasons["training.batch_tokens"]
    assert short.validation.every == 24


def write_prose(path: Path, words: int) -> dict[str, object]:
    chance = random.Random(7)
    lines = [" ".join(chance.choices(WORDS, k=13)) + f" {number}." for number in range(words // 13)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"data.files": str(path), "data.cache": str(path.parent / "cache")}


def test_more_prose_makes_a_larger_language_model_with_less_dropout(tmp_path: Path) -> None:
    few, many = (recipe("small-gpt", write_prose(tmp_path / f"{n}.txt", n)) for n in (5_003, 900_001))
    assert few.model.d_model < many.model.d_model  # type: ignore[attr-defined]
    assert few.model.dropout > many.model.dropout  # type: ignore[attr-defined]
    assert few.training.batch_tokens < many.training.batch_tokens
    assert few.model.positions == "learned"  # type: ignore[attr-defined]
    assert few.validation.patience > 0
    assert few.reasons["model.d_model"].startswith("384 lines")


@pytest.mark.parametrize("words", [131, 1_009])
def test_a_language_model_trains_on_little_prose(tmp_path: Path, words: int) -> None:
    sizes = {"model.context": 11, "validation.samples": 0}
    made = recipe("small-gpt", {**write_prose(tmp_path / "a.txt", words), **SHORT, **sizes})
    assert train(made, tmp_path / "run", Silent()).status == "finished"
    again = recipe("small-gpt", {**write_prose(tmp_path / "b.txt", 300), **SHORT}, init=tmp_path / "run")
    assert again.model.context == 11  # type: ignore[attr-defined]
    assert train(again, tmp_path / "more", Silent(), init=tmp_path / "run").status == "finished"


def test_a_language_model_without_positions_is_tuned_without_and_other_models_are_refused(
    tmp_path: Path,
) -> None:
    given = {**write_prose(tmp_path / "a.txt", 1_009), **SHORT}
    plain = recipe("small-gpt", {**given, "model.context": 11, "model.positions": "none"})
    train(plain, tmp_path / "gpt", Silent())
    assert recipe("small-gpt", given, init=tmp_path / "gpt").model.positions == "none"  # type: ignore[attr-defined]
    with pytest.raises(UserError, match=r'its model is a "gpt", that of the recipe a "llama"'):
        recipe("small-gpt", {**given, "model.kind": "llama"}, init=tmp_path / "gpt")
    texts = write_texts(tmp_path / "b.tsv", 53, ["x", "y"])
    with pytest.raises(UserError, match="trained for text generation and not for"):
        recipe("small-bert-classes", texts, init=tmp_path / "gpt")


def test_lines_of_running_text_end_at_line_feeds_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one good film\u2028\x0bone bad film\n\n" * 17, encoding="utf-8")
    made = recipe("small-gpt", {"data.files": str(tmp_path / "a.txt")})
    assert made.reasons["model.d_model"].startswith("17 lines")


def test_language_models_have_no_settings_of_texts_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggested_texts, "text_speed", lambda recipe, length: 1000.0 * (length == 128))
    made = recipe("small-gpt", {**write_prose(tmp_path / "a.txt", 90_001), "training.minutes": 2})
    assert "the time is enough for about" in made.reasons["training.batch_tokens"]
    (tmp_path / "empty.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(UserError, match="no text"):
        recipe("small-gpt", {"data.files": str(tmp_path / "empty.txt")})


def test_a_member_of_a_sweep_is_sized_by_its_corpus(tmp_path: Path) -> None:
    files = str(write_tags(tmp_path / "a.conll", 31)["data.files"])
    content = f'recipe = "small-bert-tags"\nset.data.files = ["{files}"]\n[[members]]\nname = "plain"\n'
    (tmp_path / "s.toml").write_text(content, encoding="utf-8")
    (member,) = read_sweep(str(tmp_path / "s.toml")).members
    assert member.recipe.model.d_model == 128  # type: ignore[attr-defined]


def test_a_model_of_ones_own_gets_the_settings_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "bag.py").write_text(BAG, encoding="utf-8")
    given = write_texts(tmp_path / "a.tsv", 53, ["x", "y"])
    made = recipe("small-bert-classes", {**given, "model.kind": str(tmp_path / "bag.py"), **SHORT})
    assert made.model.d_model == 128  # type: ignore[attr-defined]
    assert train(made, tmp_path / "run", Silent()).status == "finished"
