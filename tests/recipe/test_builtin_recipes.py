"""Built-in recipes, and the discovery of models."""

import subprocess
import sys
from pathlib import Path

import pytest

from multihead.data.catalogue import CORPORA
from multihead.errors import UserError
from multihead.recipe import built_in as recipes
from multihead.recipe import layers, load, model_kinds

DATA = Path(__file__).parents[3] / "shared" / "data"

EXPECTED = {
    "quickstart",
    "multi30k-de-en",
    "multi30k-en-de",
    "multi30k-en-de-lowercase",
    "multi30k-en-fr",
    "ko-en",
    "en-ko",
    "tatoeba-de-en",
    "transformer-base",
    "transformer-big",
    "seq2seq-multi30k",
    "transformer-multi30k",
    "rnn-attention-multi30k",
    "conv-s2s-multi30k",
    "tutorial-seq2seq",
    "tutorial-rnn-attention",
    "tutorial-conv-s2s",
    "tutorial-transformer",
}


def test_every_expected_recipe_exists() -> None:
    assert set(recipes.names()) >= EXPECTED


@pytest.mark.parametrize("name", recipes.names())
def test_a_recipe_loads_and_has_a_description(name: str) -> None:
    assert load(name).name == name
    assert len(recipes.describe()[name]) > 20


@pytest.mark.parametrize("name", sorted(EXPECTED - {"quickstart", "transformer-base", "transformer-big"}))
def test_the_files_of_a_recipe_exist_in_its_languages(name: str) -> None:
    data = load(name).data
    folder = DATA / Path(data.dir).name
    if not folder.is_dir():
        pytest.skip(f"no {folder.name} beside the repository")
    derived = {file for corpus in CORPORA.values() for file in corpus.derived_files}
    sets = [(data.source, data.target), (data.valid_source, data.valid_target)]
    sets += [(pair[:1], pair[1:]) for pair in data.tests.values()]
    for sources, targets in sets:
        for files, language in ((sources, data.source_language), (targets, data.target_language)):
            for file in files:
                assert (folder / file).is_file() or file in derived, file
                assert f".{language}." in f"{file}."


def test_the_two_directions_of_a_pair_mirror_each_other() -> None:
    for there, back in (("multi30k-de-en", "multi30k-en-de"), ("ko-en", "en-ko")):
        one, other = load(there).data, load(back).data
        assert (one.source, one.target) == (other.target, other.source)
        assert (one.valid_source, one.valid_target) == (other.valid_target, other.valid_source)
        assert {name: pair[::-1] for name, pair in one.tests.items()} == other.tests


def test_models_are_found_by_their_file_names() -> None:
    assert "transformer" in model_kinds.names()
    module = model_kinds.load("transformer")
    assert module.Model.__module__ == "multihead.models.transformer"


def test_an_unknown_model_is_refused_with_the_closest_name() -> None:
    with pytest.raises(UserError, match=r'no model "transfomer"\. Did you mean "transformer"\?'):
        model_kinds.load("transfomer")
    with pytest.raises(UserError, match=r'no model "\.\./x"\. Known models: .*transformer'):
        model_kinds.load("../x")


@pytest.mark.parametrize("name", recipes.names())
def test_the_model_of_a_recipe_is_read_from_its_files_alone(name: str) -> None:
    assert recipes.model(name) == load(name).kind


def test_a_row_changes_the_settings_of_its_file() -> None:
    file, row = load("gpt2").values(), load("gpt2-xl").values()
    changed = {key for key in file if file[key] != row[key]}
    assert changed == {"name", "model.d_model", "model.num_layers", "model.num_heads"}
    assert recipes.path("gpt2-xl") == recipes.path("gpt2")


def test_an_error_names_the_line_of_the_row() -> None:
    lines = (recipes.FOLDER / "gpt2.toml").read_text(encoding="utf-8").split("\n")
    line = lines.index("model.d_model = 1600") + 1
    row = layers.read("gpt2-xl").layers[-1]
    assert row.where("model", "d_model").endswith(f"gpt2.toml:{line}")


def test_models_and_recipes_are_listed_without_importing_torch() -> None:
    code = (
        "import sys; from multihead.recipe import built_in, model_kinds; model_kinds.names(); "
        "built_in.describe(); [built_in.model(name) for name in built_in.names()]; "
        "sys.exit('torch' in sys.modules or 'pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
