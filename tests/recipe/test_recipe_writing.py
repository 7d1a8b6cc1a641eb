"""A written recipe has comments, and reads back as the same recipe."""

import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from multihead.models.transformer import Settings as TransformerSettings
from multihead.recipe import SECTION_NAMES, Recipe, from_toml, load, to_toml
from multihead.recipe import built_in as recipes
from multihead.recipe.settings import (
    DataSettings,
    SearchSettings,
    Settings,
    TokenizerSettings,
    TrainingSettings,
    ValidationSettings,
)

text = st.text(st.characters(codec="utf-8"), max_size=13)
names = st.lists(text, max_size=3).map(tuple)
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
whole = st.integers(min_value=1, max_value=2**63 - 1)
recipe_names = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=7)

data = st.builds(
    DataSettings,
    dir=text,
    source=names,
    target=names,
    tests=st.dictionaries(text, names, max_size=3),
    source_language=text,
    format=st.sampled_from(["auto", "lines", "tsv", "jsonl"]),
    encoding=text,
    lowercase=st.booleans(),
    valid_fraction=st.floats(0, 1, exclude_min=True, exclude_max=True),
    max_chars=whole,
)
training = st.builds(
    TrainingSettings,
    steps=whole,
    betas=st.tuples(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True)),
    eps=positive,
    learning_rate=positive,
    schedule=st.sampled_from(["noam", "cosine"]),
    seed=st.integers(-(2**63), 2**63 - 1),
    device=text,
)
model = st.builds(TransformerSettings, dropout=st.floats(0, 1, exclude_max=True), d_ff=whole)


search = st.builds(SearchSettings, length_penalty=st.floats(-10, 10))


@st.composite
def any_recipe(draw: st.DrawFn) -> Recipe[Settings]:
    return Recipe(
        name=draw(recipe_names),
        kind="transformer",
        data=draw(data),
        tokenizer=draw(st.builds(TokenizerSettings, vocab_size=whole, file=text)),
        model=draw(model),
        training=draw(training),
        validation=draw(st.builds(ValidationSettings, every=whole)),
        search=draw(search),
    )


@settings(max_examples=40, deadline=None)
@given(any_recipe())
def test_every_recipe_reads_back_unchanged(recipe: Recipe[Settings]) -> None:
    written = to_toml(recipe)
    assert from_toml(written) == recipe
    assert to_toml(from_toml(written)) == written


def test_every_builtin_recipe_reads_back_unchanged() -> None:
    for name in recipes.names():
        recipe = load(name)
        assert from_toml(to_toml(recipe)) == recipe


def test_every_setting_is_written_with_its_help_text() -> None:
    recipe = load("multi30k-de-en")
    written = to_toml(recipe)
    read: dict[str, Any] = tomllib.loads(written)
    for name in SECTION_NAMES:
        section = recipe.section(name)
        fields = type(section).model_fields
        assert set(read[name]) - {"kind"} == set(fields) - {"kind"}
        for field in fields.values():
            assert field.description
            for line in field.description.split("\n"):
                assert f"# {line.strip()}\n" in written


def test_the_help_text_is_directly_above_its_key() -> None:
    lines = to_toml(load("quickstart", {"training.warmup_steps": 211})).split("\n")
    at = lines.index("warmup_steps = 211")
    assert lines[at - 1] == "# Warm-up: updates over which the learning rate rises linearly."
    assert lines[at - 2] == ""


def test_a_value_of_none_is_written_as_a_comment() -> None:
    class Optional(Settings):
        width: int | None = None
        """Width, if any."""

    base = load("quickstart")
    recipe: Recipe[Settings] = Recipe(
        "x", "x", base.data, base.tokenizer, Optional(), base.training, base.validation, base.search
    )
    written = to_toml(recipe)
    assert "# Width, if any.\n# width is not set\n" in written
    assert tomllib.loads(written)["model"] == {"kind": "x"}
