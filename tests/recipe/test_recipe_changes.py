"""Settings that may change when a run is resumed, and those that may not."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from multihead.errors import UserError
from multihead.recipe import (
    Difference,
    Recipe,
    differences,
    from_toml,
    recipe_hash,
    resume_recipe,
    with_horizon,
    with_vocabularies,
)
from multihead.recipe.settings import Settings
from multihead.recipe.settings.translation import DataSettings

TEXT = """
[data]
source = "train.de"
tests.old = "old.tsv"
[model]
d_model = 256
d_ff = 512
[training]
steps = 8000
"""
BASE = from_toml(TEXT)


def recipe(typed: Mapping[str, object]) -> Recipe[Settings]:
    return from_toml(TEXT, overrides=typed)


def changed(key: str, value: object) -> list[Difference]:
    return differences(BASE, recipe({key: value}))


def test_equal_recipes_have_no_differences() -> None:
    assert differences(BASE, from_toml(TEXT)) == []


def test_a_difference_names_key_and_both_values() -> None:
    assert changed("training.seed", 7) == [Difference("training.seed", 1, 7)]
    assert str(changed("training.seed", 7)[0]) == "training.seed: 1 -> 7"


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("training.steps", 8001, True),
        ("training.steps", 7999, True),
        ("training.log_every", 7, True),
        ("training.save_minutes", 0.5, True),
        ("training.device", "cpu", True),
        ("training.threads", 1, True),
        ("validation.samples", 3, True),
        ("validation.every", 3, False),
        ("search.beam_size", 3, True),
        ("search.length_penalty", 1.0, True),
        ("data.dir", "elsewhere", True),
        ("data.cache", "elsewhere", True),
        ("data.tests.news", "news.tsv", True),
        ("data.source", "other.de", False),
        ("data.lowercase", True, False),
        ("tokenizer.vocab_size", 97, False),
        ("model.d_ff", 97, False),
        ("model.source_vocab", 37_000, True),
        ("training.learning_rate", 1e-4, False),
        ("training.precision", "fp32", False),
        ("training.seed", 7, False),
        ("name", "other", True),
    ],
)
def test_only_settings_that_do_not_affect_the_result_may_change(
    key: str, value: object, allowed: bool
) -> None:
    assert all(difference.allowed for difference in changed(key, value)) == allowed


def test_a_key_that_only_one_model_has_is_a_difference() -> None:
    difference = Difference("model.width", None, 13)
    assert not difference.allowed


def test_the_schedule_of_a_new_run_spans_its_steps() -> None:
    assert with_horizon(BASE).training.horizon == 8000
    assert with_horizon(recipe({"training.horizon": 97})).training.horizon == 97


def test_more_steps_do_not_change_the_schedule() -> None:
    old = with_horizon(BASE)
    new = resume_recipe(old, recipe({"training.steps": 9001, "search.beam_size": 3}))
    assert (new.training.steps, new.training.horizon, new.search.beam_size) == (9001, 8000, 3)


def test_extending_a_cosine_schedule_is_refused() -> None:
    old = with_horizon(recipe({"training.schedule": "cosine"}))
    with pytest.raises(UserError, match=r"runs/a: the learning rate is 0 from update 8,000 on .* --init RUN"):
        resume_recipe(old, recipe({"training.schedule": "cosine", "training.steps": 8001}), place="runs/a")
    # A run started with a shorter horizon on purpose can be resumed.
    odd = recipe({"training.schedule": "cosine", "training.horizon": 97})
    assert resume_recipe(odd, odd) == odd


def test_filled_in_vocabulary_sizes_do_not_prevent_resuming() -> None:
    assert (
        resume_recipe(with_vocabularies(with_horizon(BASE), 97, 97), BASE).training
        == with_horizon(BASE).training
    )


def test_the_same_command_resumes_with_the_same_recipe() -> None:
    old = with_horizon(BASE)
    assert resume_recipe(old, BASE) == old


def test_another_horizon_is_refused() -> None:
    with pytest.raises(UserError, match=re.escape("(training.horizon: 8000 -> 97)")):
        resume_recipe(with_horizon(BASE), recipe({"training.horizon": 97}))


def test_all_refused_differences_are_named_and_only_those() -> None:
    new = recipe({"training.seed": 7, "model.d_ff": 97, "training.threads": 1})
    with pytest.raises(UserError) as caught:
        resume_recipe(with_horizon(BASE), new, place="runs/a")
    assert str(caught.value) == (
        "runs/a: this run was started with other settings (model.d_ff: 512 -> 97; training.seed: 1 -> 7). "
        "Give the same settings to resume it, or another --run folder."
    )


@pytest.mark.parametrize("key", ["training.steps", "training.threads", "search.beam_size"])
def test_the_hash_ignores_settings_that_may_change(key: str) -> None:
    assert recipe_hash(recipe({key: 9001})) == recipe_hash(BASE)


@pytest.mark.parametrize(
    ("key", "value"),
    [("training.seed", 7), ("model.d_ff", 97), ("data.dir", "x"), ("tokenizer.dropout", 0.1)],
)
def test_the_hash_depends_on_settings_that_affect_the_result(key: str, value: object) -> None:
    assert recipe_hash(recipe({key: value})) != recipe_hash(BASE)


def test_the_hash_ignores_vocabulary_sizes() -> None:
    assert recipe_hash(with_vocabularies(BASE, 97, 97)) == recipe_hash(BASE)


def test_a_new_key_does_not_change_the_hashes_of_existing_recipes() -> None:
    class Extended(DataSettings):
        later: int = 7

    same = Extended.model_validate(BASE.section("data").model_dump())
    assert recipe_hash(replace(BASE, data=same)) == recipe_hash(BASE)
    other = same.model_copy(update={"later": 8})
    assert recipe_hash(replace(BASE, data=other)) != recipe_hash(BASE)


def test_the_hash_is_eight_hexadecimal_digits_and_the_same_in_every_process() -> None:
    assert re.fullmatch("[0-9a-f]{8}", recipe_hash(BASE))
    assert recipe_hash(BASE) == recipe_hash(from_toml(TEXT))
