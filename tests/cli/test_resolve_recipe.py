"""Resolution of a training's recipe from the command line."""

from pathlib import Path
from typing import get_args

import pytest

from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text.training import train as train_tokenizer
from multihead.workflows.resolve_recipe import resolve_recipe

Pair = tuple[Path, Path]
NOTHING: dict[str, tuple[str, ...]] = {"source": (), "target": (), "valid_source": (), "valid_target": ()}


def named(corpus: Pair) -> dict[str, tuple[str, ...]]:
    return {**NOTHING, "source": (str(corpus[0]),), "target": (str(corpus[1]),)}


def test_a_recipe_is_loaded_with_overrides() -> None:
    recipe = resolve_recipe("multi30k-de-en", NOTHING, {"training.steps": "77"}, run=None, init=None)
    assert (recipe.name, recipe.training.steps) == ("multi30k-de-en", 77)
    assert recipe.data == recipes.load("multi30k-de-en").data


@pytest.mark.parametrize(
    ("name", "given", "rate"),
    [
        ("multi30k-de-en", {"training.optimizer": "adam"}, 4e-3),
        ("multi30k-de-en", {"training.optimizer": "muon"}, 8e-3),
        ("multi30k-de-en", {"training.optimizer": "adam", "training.learning_rate": "7e-3"}, 7e-3),
        ("multi30k-en-de", {"training.optimizer": "muon"}, 6e-3),
        ("multi30k-en-de", {"training.optimizer": "adamw"}, 3e-3),
    ],
)
def test_another_optimiser_has_its_own_default_rate(name: str, given: dict[str, object], rate: float) -> None:
    recipe = resolve_recipe(name, NOTHING, given, run=None, init=None)
    assert recipe.training.optimizer == given["training.optimizer"]
    assert recipe.training.learning_rate == pytest.approx(rate)


def test_files_are_relative_to_the_working_folder_whatever_the_recipes_folder(
    corpus: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(corpus[0].parent)
    recipe = resolve_recipe("multi30k-de-en", {**NOTHING, "source": ("train.de",)}, {}, run=None, init=None)
    assert Path(recipe.data.dir) / recipe.data.source[0] == corpus[0]


def test_own_training_files_replace_the_recipes_corpus_entirely(corpus: Pair) -> None:
    own = resolve_recipe("multi30k-en-fr", named(corpus), {}, run=None, init=None)
    assert (own.data.valid_source, own.data.valid_target, own.data.tests) == ((), (), {})
    assert (own.data.source_language, own.data.target_language) == ("de", "en")
    assert own.model == recipes.load("multi30k-en-fr").model
    kept = resolve_recipe("multi30k-en-fr", {**NOTHING, "valid_source": ("a.tsv",)}, {}, run=None, init=None)
    assert kept.data.source == ("train.en.gz",)
    assert kept.data.tests == recipes.load("multi30k-en-fr").data.tests


def test_without_a_recipe_settings_follow_from_the_corpus(corpus: Pair) -> None:
    recipe = resolve_recipe(None, named(corpus), {"model.num_layers": "1"}, run=None, init=None)
    assert recipe.name == "de-en"
    assert (recipe.data.source_language, recipe.data.target_language) == ("de", "en")
    assert recipe.model.model_dump()["num_layers"] == 1
    assert recipe.tokenizer.vocab_size < recipes.from_toml("").tokenizer.vocab_size
    assert resolve_recipe(None, named(corpus), {"model.num_layers": "1"}, run=None, init=None) == recipe


def test_symbols_are_reserved_for_a_new_corpus_unless_its_vocabulary_is_given(
    corpus: Pair, tmp_path: Path
) -> None:
    found = resolve_recipe(None, named(corpus), {}, run=None, init=None).tokenizer
    assert found.symbols == ("standard",)
    without = resolve_recipe(None, named(corpus), {"tokenizer.symbols": ()}, run=None, init=None).tokenizer
    assert (without.symbols, without.vocab_size) == ((), found.vocab_size)
    file = tokenizer_file(tmp_path, "bpe")
    for key, value in (("tokenizer.vocab_size", 300), ("tokenizer.file", file)):
        assert resolve_recipe(None, named(corpus), {key: value}, run=None, init=None).tokenizer.symbols == ()
    assert recipes.load("multi30k-de-en").tokenizer.symbols == ()


@pytest.mark.parametrize("kind", ["seq2seq", "rnn_attention", "conv_s2s"])
def test_another_kind_of_model_gets_its_own_settings(corpus: Pair, kind: str) -> None:
    recipe = resolve_recipe(None, named(corpus), {"model.kind": kind}, run=None, init=None)
    assert recipe.kind == kind
    assert recipe.model.model_dump()["d_embedding"] == 128
    assert recipe.training.optimizer == "adam"


def tokenizer_file(folder: Path, kind: str) -> str:
    """A tokenizer of a kind, trained on a line of text, as a file."""
    settings = TokenizerSettings.model_validate({"kind": kind, "vocab_size": 290})
    train_tokenizer(["eins one zwei two drei three vier four"] * 5, settings).save(folder / "tokenizer.json")
    return str(folder / "tokenizer.json")


KINDS = get_args(TokenizerSettings.model_fields["kind"].annotation)


@pytest.mark.parametrize(
    "given",
    [
        {"tokenizer.joint": False},
        {"tokenizer.target_kind": "chars"},
        {"tokenizer.target_vocab_size": 300},
        {"tokenizer.kind": "unigram", "tokenizer.target_kind": "bpe"},
        {"tokenizer.joint": False, "model.kind": "seq2seq"},
    ],
)
def test_a_vocabulary_for_each_side_is_decided_by_what_is_typed(
    corpus: Pair, given: dict[str, object]
) -> None:
    recipe = resolve_recipe(None, named(corpus), given, run=None, init=None)
    assert not recipe.tokenizer.joint
    assert recipe.model.model_dump()["tied"] == "decoder"
    recipes.refuse_contradictions(recipe)


@pytest.mark.parametrize("kind", KINDS)
def test_bpe_dropout_is_suggested_for_plain_bpe_alone(corpus: Pair, tmp_path: Path, kind: str) -> None:
    expected = 0.1 if kind == "bpe" else 0.0
    recipe = resolve_recipe(None, named(corpus), {"tokenizer.kind": kind}, run=None, init=None)
    assert recipe.tokenizer.dropout == expected
    given: dict[str, object] = {"tokenizer.file": tokenizer_file(tmp_path, kind)}
    assert resolve_recipe(None, named(corpus), given, run=None, init=None).tokenizer.dropout == expected


def test_bpe_dropout_is_refused_for_other_tokenizers_before_data_is_read(corpus: Pair) -> None:
    given: dict[str, object] = {"tokenizer.kind": "unigram", "tokenizer.dropout": "0.1"}
    with pytest.raises(UserError, match=r'tokenizer\.dropout: .* tokenizer\.kind is "unigram"\. Set'):
        resolve_recipe(None, named(corpus), given, run=None, init=None)


def test_sentence_pairs_are_refused_for_a_model_of_another_task(corpus: Pair) -> None:
    with pytest.raises(UserError, match=r"^--src: .* the task of this model is language"):
        resolve_recipe(None, named(corpus), {"model.kind": "gpt"}, run=None, init=None)


@pytest.mark.parametrize(
    ("source", "target", "name"),
    [
        ("a.tok.de", "a.tok.en", "de-en"),
        ("a.txt", "b.txt", "a"),
        ("pairs.tsv", None, "pairs"),
        ("europarl.v7.deu", "europarl.v7.eng", "deu-eng"),
    ],
)
def test_the_run_is_named_after_the_corpus(
    tmp_path: Path, source: str, target: str | None, name: str
) -> None:
    (tmp_path / source).write_text("eins\tone\n")
    files = {**NOTHING, "source": (str(tmp_path / source),)}
    if target:
        (tmp_path / target).write_text("one\n")
        files["target"] = (str(tmp_path / target),)
    assert resolve_recipe(None, files, {}, run=None, init=None).name == name


def test_a_file_with_both_sides_replaces_the_former_target(trained: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "new.tsv"
    pairs.write_text("eins zwei drei\tthree two one\n" * 7)
    files = {**NOTHING, "source": (str(pairs),)}
    assert resolve_recipe(None, files, {}, run=None, init=trained).data.target == ()
    assert resolve_recipe("multi30k-de-en", files, {}, run=None, init=None).data.target == ()


def test_a_validation_file_of_ones_own_is_not_paired_with_the_recipes_target() -> None:
    recipe = resolve_recipe(
        "multi30k-de-en", {**NOTHING, "valid_source": ("own.tsv",)}, {}, run=None, init=None
    )
    assert recipes.load("multi30k-de-en").data.valid_target
    assert recipe.data.valid_target == ()


@pytest.mark.parametrize("name", [None, "multi30k-de-en"])
def test_a_tokenizer_that_was_typed_is_not_ignored_beside_a_run_to_begin_with(
    trained: Path, corpus: Pair, name: str | None
) -> None:
    given: dict[str, object] = {"tokenizer.kind": "unigram"}
    with pytest.raises(UserError, match=r"^tokenizer\.kind: 'unigram' differs from the run named by --init"):
        resolve_recipe(name, named(corpus), given, run=None, init=trained)
    resolve_recipe(name, named(corpus), {"tokenizer.kind": "words"}, run=None, init=trained)


def test_standard_input_cannot_determine_the_settings(trained: Path) -> None:
    with pytest.raises(UserError, match="can be read only once"):
        resolve_recipe(None, {**NOTHING, "source": ("-",)}, {}, run=None, init=trained)


def test_a_run_folder_alone_is_resumed(trained: Path) -> None:
    assert resolve_recipe(None, NOTHING, {}, run=trained, init=None) == recipes.load(trained / "recipe.toml")


def test_fine_tuning_keeps_the_model_and_takes_the_new_corpus(trained: Path, corpus: Pair) -> None:
    recipe = resolve_recipe(None, named(corpus), {}, run=None, init=trained)
    old = recipes.load(trained / "recipe.toml")
    assert (recipe.model, recipe.tokenizer) == (old.model, old.tokenizer)
    assert recipe.name == f"{old.name}-tuned"
    assert recipe.training.horizon == 0
    assert Path(recipe.data.dir) / recipe.data.source[0] == corpus[0]
    other = resolve_recipe(None, named(corpus), {"training.optimizer": "adam"}, run=None, init=trained)
    assert old.training.optimizer == "muon"
    assert other.training.learning_rate == old.training.learning_rate / 2


def test_missing_training_data_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^nothing to train on"):
        resolve_recipe(None, NOTHING, {}, run=None, init=None)
    with pytest.raises(UserError, match=f"{tmp_path}: no run to"):
        resolve_recipe(None, NOTHING, {}, run=tmp_path, init=None)
    with pytest.raises(UserError, match="no such file"):
        resolve_recipe(
            None, {**NOTHING, "source": ("nowhere.de",), "target": ("nowhere.en",)}, {}, run=None, init=None
        )
