"""Loading of recipes by name, from files and with command-line overrides."""

from pathlib import Path
from typing import Any

import pytest

from multihead.errors import UserError
from multihead.recipe import Recipe, from_toml, load, with_vocabularies
from multihead.recipe.settings import Settings


def written(folder: Path, text: str, name: str = "my.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_builtin_recipe_is_found_by_its_name() -> None:
    recipe = load("transformer-base")
    assert (recipe.name, recipe.kind, recipe.training.schedule) == ("transformer-base", "transformer", "noam")


def test_a_file_is_found_by_its_path_and_names_the_recipe(tmp_path: Path) -> None:
    recipe = load(written(tmp_path, "[training]\nsteps = 17\n"))
    assert (recipe.name, recipe.training.steps) == ("my", 17)


def test_an_empty_file_is_a_recipe_with_defaults(tmp_path: Path) -> None:
    recipe = load(written(tmp_path, ""))
    assert recipe.kind == "transformer"
    assert recipe.training.steps == 10_000


def test_a_name_in_the_file_overrides_the_file_name(tmp_path: Path) -> None:
    assert load(written(tmp_path, 'name = "best"\n')).name == "best"


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbf[training]\r\nsteps = 17\r\n")
    assert load(tmp_path / "bom.toml").training.steps == 17


def test_a_single_string_becomes_a_list_of_strings() -> None:
    recipe = from_toml('[data]\nsource = "train.de"\ntests.news = "news.tsv"\n')
    assert recipe.data.source == ("train.de",)
    assert recipe.data.tests == {"news": ("news.tsv",)}


def test_lists_become_tuples() -> None:
    recipe = from_toml('[data]\nsource = ["a", "b"]\n[training]\nbetas = [0.9, 0.95]\n')
    assert recipe.data.source == ("a", "b")
    assert recipe.training.betas == (0.9, 0.95)


@pytest.mark.parametrize(
    ("key", "typed", "meant"),
    [
        ("training.steps", "8000", 8000),
        ("training.steps", 8000, 8000),
        ("training.steps", "8_000", 8000),
        ("training.learning_rate", "2e-3", 2e-3),
        ("training.compile", "true", True),
        ("training.betas", "[0.9, 0.95]", (0.9, 0.95)),
        ("training.schedule", "noam", "noam"),
        ("data.source", "train.de", ("train.de",)),
        ("data.source", ["a", "b"], ("a", "b")),
        ("data.source", '["a", "b"]', ("a", "b")),
        ("data.source", "2024-11-21", ("2024-11-21",)),
        ("data.source_field", "2", "2"),
        ("data.source", "17", ("17",)),
        ("data.tests.news", ["n.de", "n.en"], {"news": ("n.de", "n.en")}),
        ("model.dropout", "0.3", 0.3),
    ],
)
def test_the_command_line_overrides_the_recipe(key: str, typed: object, meant: object) -> None:
    assert load("transformer-base", {key: typed}).values()[key.removesuffix(".news")] == meant


def test_a_test_set_on_the_command_line_is_added_to_those_of_the_recipe() -> None:
    recipe = load("multi30k-de-en", {"data.tests.news": "news.tsv"})
    assert recipe.data.tests["news"] == ("news.tsv",)
    assert "test_2016_flickr" in recipe.data.tests
    assert load("multi30k-de-en", {"data.tests": {}}).data.tests == {}
    assert load("multi30k-de-en", {"data.tests": "{}"}).data.tests == {}


def test_a_recipe_extends_others_key_by_key(tmp_path: Path) -> None:
    written(tmp_path, "[training]\nsteps = 17\nseed = 5\n", "a.toml")
    written(tmp_path, 'extends = "a.toml"\n[training]\nseed = 7\n', "b.toml")
    recipe = load(written(tmp_path, 'extends = "b.toml"\n[search]\nbeam_size = 3\n', "c.toml"))
    assert (recipe.name, recipe.training.steps, recipe.training.seed) == ("c", 17, 7)
    assert recipe.search.beam_size == 3


def test_a_name_is_not_inherited(tmp_path: Path) -> None:
    written(tmp_path, 'name = "first"\n', "a.toml")
    assert load(written(tmp_path, 'extends = "a.toml"\n', "b.toml")).name == "b"


def test_a_file_extends_a_builtin_recipe(tmp_path: Path) -> None:
    recipe = load(written(tmp_path, 'extends = "transformer-big"\n'))
    assert recipe.values()["model.d_model"] == 1024
    assert recipe.training.schedule == "noam"


def test_circular_extends_is_refused(tmp_path: Path) -> None:
    written(tmp_path, 'extends = "b.toml"\n', "a.toml")
    with pytest.raises(UserError, match=r"a\.toml:1: this recipe extends itself"):
        load(written(tmp_path, '# b\nextends = "./a.toml"\n', "b.toml"))


def test_another_model_starts_from_its_own_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Small(Settings):
        width: int = 13

    class Module:
        Settings = Small

    monkeypatch.setattr("multihead.recipe.model_kinds.load", lambda kind: Module)
    written(tmp_path, '[model]\nkind = "transformer"\nd_model = 31\n', "a.toml")
    recipe = load(written(tmp_path, 'extends = "a.toml"\n[model]\nkind = "small"\n', "b.toml"))
    assert recipe.model == Small(width=13)


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [("llama", "mixtral", True), ("mixtral", "llama", True), ("gpt", "llama", False)],
)
def test_a_model_whose_settings_extend_anothers_takes_them_over(
    tmp_path: Path, before: str, after: str, kept: bool
) -> None:
    own = "experts = 4\n" if before == "mixtral" else ""
    path = written(tmp_path, f'[model]\nkind = "{before}"\nd_model = 24\nnum_heads = 4\n{own}')
    found: Any = load(path, {"model.kind": after, "model.num_heads": 2})
    assert (found.kind, found.model.num_heads) == (after, 2)
    assert found.model.d_model == (24 if kept else 4096)


def test_vocabulary_sizes_are_filled_in() -> None:
    recipe = with_vocabularies(load("transformer-base"), 101, 101)
    assert recipe.values()["model.source_vocab"] == recipe.values()["model.target_vocab"] == 101


def test_vocabularies_that_contradict_the_model_are_refused() -> None:
    with pytest.raises(UserError, match=r"needs one vocabulary, not two of 101 and 103"):
        with_vocabularies(load("transformer-base"), 101, 103)


def test_a_model_without_vocabularies_is_not_changed() -> None:
    class Blind(Settings):
        width: int = 13

    base = load("quickstart")
    recipe: Recipe[Settings] = Recipe(
        "blind", "blind", base.data, base.tokenizer, Blind(), base.training, base.validation, base.search
    )
    assert with_vocabularies(recipe, 101, 103) == recipe
