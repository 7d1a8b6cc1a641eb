"""Every setting is used by a recipe or explained by a page; one that is neither has no known need."""

import re
from functools import cache
from pathlib import Path

import pytest

from multihead.recipe import model_kinds, section_types

ROOT = Path(__file__).parents[2]


@cache
def mentioned() -> frozenset[str]:
    """Return the names in all recipes, and in the code of all pages: in blocks and between backticks."""
    recipes = (ROOT / "src" / "multihead" / "recipe" / "built_in").rglob("*.toml")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [re.sub("#.*", "", file.read_text(encoding="utf-8")) for file in recipes]
    code = [re.findall(r"```.*?```|`[^`]+`", page.read_text(encoding="utf-8"), re.DOTALL) for page in pages]
    words = re.findall(r"[\w-]+", " ".join([*texts, *(part for parts in code for part in parts)]))
    return frozenset(word.lstrip("-").replace("-", "_") for word in words)


KEYS = sorted(
    {
        (section, key)
        for kind in model_kinds.built_in()
        for section, settings in section_types(kind).items()
        for key in settings.model_fields
    }
)


@pytest.mark.parametrize(("section", "key"), KEYS, ids=str)
def test_a_recipe_or_a_page_has_every_key(section: str, key: str) -> None:
    assert key in mentioned(), f"{section}.{key} is in no recipe and no page: explain it, or delete it"


def test_a_key_without_a_need_is_noticed() -> None:
    assert not {"stpes", "d_modle"} & mentioned()
