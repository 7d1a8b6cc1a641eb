"""The run folder: made, opened, continued, and refused where it is none."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from sealing import edit

from multihead.errors import UserError
from multihead.models.transformer import Settings as TransformerSettings
from multihead.models.transformer import Transformer
from multihead.recipe import Recipe, load, with_vocabularies
from multihead.recipe.settings import Settings, TokenizerSettings
from multihead.run import Run
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

Make = Callable[[], Run]


def model(recipe: Recipe[Settings]) -> Transformer:
    assert isinstance(recipe.model, TransformerSettings)
    return Transformer(recipe.model)


# --- made and opened ------------------------------------------------------------------------------


def test_a_run_has_what_it_was_made_with(make: Make, recipe: Recipe[Settings], tokenizer: Tokenizer) -> None:
    run = Run.open(make().folder)
    assert run.recipe == recipe
    assert run.environment == {"data": {}}
    source, target = run.tokenizers()
    assert source is target
    assert source.fingerprint == tokenizer.fingerprint


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        ({"data": 3}, '"data" is missing or of the wrong kind'),
        ({"data": {"files": [{"name": "a", "bytes": "x", "sha256": ""}]}}, '"data.files.0.bytes"'),
        (
            {"data": {"cleaning": {"read": 3, "kept": 3, "dropped": {"empty": []}}}},
            '"data.cleaning.dropped.empty"',
        ),
        ({"data": {}, "versions": ["1"]}, '"versions"'),
        ({"data": {}, "machine": None}, '"machine"'),
    ],
)
def test_an_environment_of_another_form_is_told(make: Make, odd: dict[str, Any], told: str) -> None:
    run = make()
    edit(run.folder / "environment.json", **odd)
    with pytest.raises(UserError, match=told):
        _ = run.environment


def test_two_vocabularies_are_kept_apart(tmp_path: Path) -> None:
    first, second = (train([text], TokenizerSettings(vocab_size=300)) for text in ("a dog", "two cats here"))
    recipe = load("quickstart", {"model.tied": "decoder"})
    recipe = with_vocabularies(recipe, first.vocab_size, second.vocab_size)
    with Run.create(tmp_path / "run", recipe, (first, second), {}) as run:
        source, target = run.tokenizers()
    assert (source.fingerprint, target.fingerprint) == (first.fingerprint, second.fingerprint)


def test_a_run_can_be_moved(make: Make, recipe: Recipe[Settings], tmp_path: Path) -> None:
    run = make()
    run.save_model(model(recipe).state_dict(), {})
    shutil.move(run.folder, tmp_path / "elsewhere")
    moved = Run.open(tmp_path / "elsewhere")
    assert moved.recipe == recipe
    moved.tokenizers()
    moved.load_model()
    for path in moved.folder.rglob("*"):
        assert path.is_dir() or str(tmp_path).encode() not in path.read_bytes()


def test_a_recipe_can_be_replaced(make: Make, recipe: Recipe[Settings]) -> None:
    run = make()
    longer = replace(recipe, training=recipe.training.model_copy(update={"steps": 9001}))
    run.write_recipe(longer)
    assert Run.open(run.folder).recipe == longer


def test_making_goes_on_where_it_was_cut_off(make: Make) -> None:
    run = make()
    (run.folder / "recipe.toml").unlink()
    (run.folder / "model.json.partial").mkdir()
    assert not Run.exists(run.folder)
    make()
    assert Run.exists(run.folder)
    assert not list(run.folder.glob("*.partial"))


def test_locking_clears_away_what_a_killed_writer_left(make: Make) -> None:
    run = make()
    for folder in (run.folder, run.checkpoint_folder):
        (folder / "x.safetensors.partial").mkdir()
        (folder / "x.safetensors.partial" / ".tmp7x").touch()
    with Run.open(run.folder).lock():
        assert not list(run.folder.rglob("*.partial"))


def test_other_files_of_a_run_are_written_too(make: Make) -> None:
    run = make()
    run.write_text("curves.svg", "<svg/>")
    assert (run.folder / "curves.svg").read_text() == "<svg/>"


# --- refused --------------------------------------------------------------------------------------


def test_a_run_is_not_made_where_there_is_one(make: Make) -> None:
    recipe_file = make().folder / "recipe.toml"
    recipe_file.write_text('name = "precious"\n')
    with pytest.raises(UserError, match="there is a run in this folder already"):
        make()
    assert recipe_file.read_text() == 'name = "precious"\n'


def test_a_folder_with_something_else_in_it_is_left_alone(make: Make, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").touch()
    with pytest.raises(UserError, match=r"neither empty nor a run folder \(thesis\.tex in it\)"):
        make()
    assert {path.name for path in (tmp_path / "run").iterdir()} <= {"thesis.tex", ".lock"}


def test_a_folder_that_cannot_be_made_is_refused(make: Make, tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(UserError, match=r"run: cannot be written \(File exists\)"):
        make()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(make: Make, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(UserError, match="Name a folder that you may write to"):
            make()
    finally:
        tmp_path.chmod(0o700)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no such run folder"):
        Run.open(tmp_path / "nowhere")


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"not a run folder \(no recipe\.toml in it\)"):
        Run.open(tmp_path)


def test_a_newer_folder_is_refused(make: Make) -> None:
    run = make()
    edit(run.folder / "model.json", format=2, kind=None)
    with pytest.raises(UserError, match=r"made by a newer multihead \(folder format 2.*Update multihead"):
        Run.open(run.folder)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format": 1}', b"\xff", b"[" * 100_000])
def test_a_damaged_description_is_refused(make: Make, content: bytes) -> None:
    run = make()
    (run.folder / "model.json").write_bytes(content)
    with pytest.raises(UserError, match=r"model\.json: "):
        Run.open(run.folder)


def test_tokenizers_of_another_run_are_refused(make: Make) -> None:
    run = make()
    other = train(["a b c d e f g"], TokenizerSettings(vocab_size=300))
    other.save(run.folder / "tokenizer.json")
    with pytest.raises(UserError, match="but the model was made for"):
        run.tokenizers()


def test_a_tokenizer_of_the_same_size_and_other_pieces_is_refused(make: Make, tokenizer: Tokenizer) -> None:
    run = make()
    run.tokenizers()
    content = json.loads((run.folder / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = content["model"]["vocab"]
    one, other = list(vocabulary)[-2:]
    vocabulary[one], vocabulary[other] = vocabulary[other], vocabulary[one]
    (run.folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(
        UserError, match=r"tokenizer\.json: not the tokenizer that this model was trained with"
    ):
        run.tokenizers()


def test_a_run_of_version_0_1_0_without_fingerprints_keeps_its_tokenizer(make: Make) -> None:
    run = make()
    described = json.loads((run.folder / "model.json").read_text())
    for key in ("tokenizers", "run"):
        del described[key]
    (run.folder / "model.json").write_text(json.dumps(described))
    (run.folder / "manifest.json").unlink()
    run.tokenizers()


# --- the model ------------------------------------------------------------------------------------


def test_a_saved_model_comes_back_the_same_and_in_evaluation_mode(
    make: Make, recipe: Recipe[Settings]
) -> None:
    run, trained = make(), model(recipe)
    run.save_model(trained.state_dict(), {"step": 7})
    found = run.load_model()
    assert not found.training
    before, after = trained.state_dict(), found.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("initialisation", ["xavier", "lecun", "normal"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_loading_leaves_nothing_unfilled(
    make: Make, recipe: Recipe[Settings], initialisation: str, positions: str
) -> None:
    run = make()
    changed = recipe.model.model_copy(update={"initialisation": initialisation, "positions": positions})
    trained = model(replace(recipe, model=changed)).eval()
    run.save_model(trained.state_dict(), {})
    edit(run.folder / "model.json", settings=changed.model_dump())
    ids_BN = torch.tensor([[5, 7, 11]])
    assert torch.equal(run.load_model()(ids_BN, ids_BN), trained(ids_BN, ids_BN))


def test_loading_draws_no_random_numbers(make: Make, recipe: Recipe[Settings]) -> None:
    run = make()
    run.save_model(model(recipe).state_dict(), {})
    before = torch.get_rng_state()
    run.load_model()
    assert torch.equal(torch.get_rng_state(), before)


def test_tied_weights_are_still_tied_when_they_come_back(make: Make, recipe: Recipe[Settings]) -> None:
    run = make()
    run.save_model(model(recipe).state_dict(), {})
    found = run.load_model()
    assert isinstance(found, Transformer)
    assert found.output is found.source_embedding


def test_a_run_without_a_model_says_so(make: Make) -> None:
    with pytest.raises(UserError, match="this run has no trained model yet"):
        make().load_model()


def test_weights_of_another_model_are_refused_and_the_differences_named(
    make: Make, recipe: Recipe[Settings]
) -> None:
    run, weights = make(), model(recipe).state_dict()
    names = [name for name in sorted(weights) if "encoder" in name]
    weights[names[0]] = torch.ones(2, 3, 5)
    del weights[names[1]]
    weights["extra"] = torch.ones(7)
    run.save_model(weights, {})
    with pytest.raises(UserError) as caught:
        run.load_model()
    for part in (f"no {names[1]}; ", "extra is unknown; ", f"{names[0]} has shape (2, 3, 5), not ("):
        assert part in str(caught.value)


def test_absurd_sizes_are_refused(make: Make, recipe: Recipe[Settings]) -> None:
    run = make()
    run.save_model(model(recipe).state_dict(), {})
    edit(run.folder / "model.json", settings=recipe.model.model_dump() | {"d_ff": 10**12})
    with pytest.raises(UserError, match=r"has shape \(7,\), not \(1000000000000,\)"):
        run.load_model()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"kind": "../../x"}, 'there is no model "../../x"'),
        (
            {"settings": {"d_modle": 5}},
            'model.json: unknown key "model.d_modle". Did you mean "model.d_model"?',
        ),
        (
            {"settings": {"dropout": 1.5}},
            "model.json: model.dropout = 1.5, but it must be a number of at least 0",
        ),
    ],
)
def test_a_description_that_is_wrong_is_refused(
    make: Make, recipe: Recipe[Settings], changes: dict[str, object], expected: str
) -> None:
    run = make()
    run.save_model(model(recipe).state_dict(), {})
    edit(run.folder / "model.json", **changes)
    with pytest.raises(UserError) as caught:
        run.load_model()
    assert expected in str(caught.value)
