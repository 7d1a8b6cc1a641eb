"""Fuzzed recipes are either valid or refused with a ``UserError``."""

import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.recipe import SECTION_NAMES, from_toml, load, to_toml

KEYS = (
    "steps",
    "betas",
    "source",
    "tests",
    "kind",
    "d_model",
    "num_heads",
    "dropout",
    "compile",
    "eps",
    "dir",
)
text = st.text(st.characters(codec="utf-8"), max_size=7)
plain = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | text
    | st.sampled_from(["transformer", "quickstart", "noam", "a.toml", "\0.toml", "/", "x" * 5000 + ".toml"])
    | st.datetimes()
)
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
)
sections = st.dictionaries(st.sampled_from(KEYS) | text, values, max_size=3) | values
documents = st.dictionaries(st.sampled_from([*SECTION_NAMES, "name", "extends"]) | text, sections, max_size=4)


@settings(max_examples=150, deadline=None)
@given(documents)
def test_any_toml_is_a_recipe_or_a_user_error(document: dict[str, object]) -> None:
    written = tomlkit.dumps(document)
    try:
        recipe = from_toml(written)
    except UserError:
        return
    assert from_toml(to_toml(recipe)) == recipe


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_recipe_or_a_user_error(written: str) -> None:
    try:
        recipe = from_toml(written)
    except UserError:
        return
    assert from_toml(to_toml(recipe)) == recipe


keys = st.builds(
    ".".join, st.lists(st.sampled_from([*SECTION_NAMES, *KEYS, ""]) | text, min_size=1, max_size=3)
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(keys, st.text(max_size=7) | values, max_size=3))
def test_any_command_line_is_a_recipe_or_a_user_error(typed: dict[str, object]) -> None:
    try:
        recipe = load("quickstart", typed)
    except UserError as error:
        str(error).encode()  # the message can be printed
        return
    assert from_toml(to_toml(recipe)) == recipe
