"""The tokenizers of a run: told apart by their content, whatever their size."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sealing import accept

from multihead.errors import UserError
from multihead.recipe import Recipe, with_vocabularies
from multihead.recipe.settings import Settings, TokenizerSettings
from multihead.run import Run
from multihead.run.origin import fingerprint, identity
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

TEXTS = ("ein Hund und eine Katze sehen", "eine Maus und ein Haus stehen", "a dog and one cat see")


def words(text: str) -> Tokenizer:
    return train([text], TokenizerSettings(kind="words", vocab_size=31))


@pytest.fixture
def make(tmp_path: Path, recipe: Recipe[Settings]) -> Callable[..., Run]:
    def made(name: str, *texts: str) -> Run:
        tokenizers = [words(text) for text in texts]
        sizes = [tokenizer.vocab_size for tokenizer in (tokenizers[0], tokenizers[-1])]
        changed = recipe
        if len(texts) > 1:
            changed = replace(recipe, model=recipe.model.model_copy(update={"tied": "decoder"}))
        with Run.create(tmp_path / name, with_vocabularies(changed, *sizes), tokenizers, {"data": {}}) as run:
            return run

    return made


def test_another_runs_tokenizer_of_the_same_size_is_refused(make: Callable[..., Run]) -> None:
    one, other = make("one", TEXTS[0]), make("other", TEXTS[1])
    sizes = {run.tokenizers()[0].vocab_size for run in (one, other)}
    assert len(sizes) == 1
    shutil.copyfile(other.folder / "tokenizer.json", one.folder / "tokenizer.json")
    fact = r"tokenizer\.json: not the tokenizer that this model was trained with"
    with pytest.raises(UserError, match=fact):
        one.tokenizers()
    accept(one.folder)
    with pytest.raises(UserError, match=fact):
        one.tokenizers()
    (one.folder / "manifest.json").unlink()
    with pytest.raises(UserError, match=fact):
        one.tokenizers()


def test_source_and_target_that_are_exchanged_are_refused(make: Callable[..., Run]) -> None:
    run = make("run", *TEXTS[:2])
    source, target = run.tokenizers()
    assert source.vocab_size == target.vocab_size
    paths = [run.folder / f"tokenizer.{side}.json" for side in ("source", "target")]
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, reversed(contents), strict=True):
        path.write_bytes(content)
    accept(run.folder)
    with pytest.raises(UserError, match="not the tokenizer that this model was trained with"):
        run.tokenizers()


def test_a_tokenizer_for_both_sides_beside_two_is_refused(make: Callable[..., Run]) -> None:
    run = make("run", *TEXTS[:2])
    words(TEXTS[2]).save(run.folder / "tokenizer.json")
    with pytest.raises(UserError, match="not the tokenizer that this model was trained with"):
        run.tokenizers()


def test_a_fingerprint_does_not_depend_on_how_the_file_is_laid_out() -> None:
    text = words(TEXTS[0]).to_json()
    content = json.loads(text)
    assert fingerprint(json.dumps(content, sort_keys=True, indent=7)) == fingerprint(text)
    assert fingerprint(json.dumps(dict(reversed(content.items())))) == fingerprint(text)
    ids = content["model"]["vocab"]
    one, other = list(ids)[-2:]
    ids[one], ids[other] = ids[other], ids[one]
    assert fingerprint(json.dumps(content)) != fingerprint(text)


def test_what_decides_a_result_changes_a_runs_identity(recipe: Recipe[Settings]) -> None:
    data = {"fingerprint": "a", "files": [{"sha256": "b"}]}
    own = identity(recipe, ["c"], data)
    training = recipe.training
    others = [
        identity(recipe, ["d"], data),
        identity(recipe, ["c"], data | {"fingerprint": "d"}),
        identity(recipe, ["c"], data | {"files": []}),
        identity(recipe, ["c"], data | {"init": {"run": "d"}}),
        identity(replace(recipe, training=training.model_copy(update={"seed": 7})), ["c"], data),
        identity(replace(recipe, model=recipe.model.model_copy(update={"dropout": 0.7})), ["c"], data),
    ]
    assert len({own, *others}) == 7


def test_what_may_change_between_two_starts_does_not_change_a_runs_identity(recipe: Recipe[Settings]) -> None:
    own = identity(recipe, ["c"], {})
    changes = {"steps": 9001, "log_every": 7, "threads": 1, "save_minutes": 3.0}
    changed = replace(recipe, name="other", training=recipe.training.model_copy(update=changes))
    assert identity(changed, ["c"], {}) == own
