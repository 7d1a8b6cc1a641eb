"""Recipes: the settings of a run, read from TOML and the command line, written back with comments.

Names are imported on first use: listing models and recipes needs neither pydantic nor PyTorch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multihead.recipe.changes import (
        Difference,
        decisive,
        differences,
        recipe_hash,
        refuse_at_once,
        resume_recipe,
        with_horizon,
    )
    from multihead.recipe.checking import refuse_contradictions
    from multihead.recipe.loading import from_toml, load, with_model, with_vocabularies
    from multihead.recipe.sections import DEFAULT_KIND, SECTION_NAMES, Recipe, section_types
    from multihead.recipe.writing import to_toml

_MODULES = {
    "changes": (
        "Difference",
        "decisive",
        "differences",
        "recipe_hash",
        "refuse_at_once",
        "resume_recipe",
        "with_horizon",
    ),
    "checking": ("refuse_contradictions",),
    "loading": ("from_toml", "load", "with_model", "with_vocabularies"),
    "sections": ("DEFAULT_KIND", "SECTION_NAMES", "Recipe", "section_types"),
    "writing": ("to_toml",),
}

__all__ = [
    "DEFAULT_KIND",
    "SECTION_NAMES",
    "Difference",
    "Recipe",
    "decisive",
    "differences",
    "from_toml",
    "load",
    "recipe_hash",
    "refuse_at_once",
    "refuse_contradictions",
    "resume_recipe",
    "section_types",
    "to_toml",
    "with_horizon",
    "with_model",
    "with_vocabularies",
]


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
