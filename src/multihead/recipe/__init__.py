"""Recipes: the settings of a run, read from TOML and the command line, written back with comments."""

from multihead.recipe.changes import (
    Difference,
    decisive,
    differences,
    recipe_hash,
    refuse_at_once,
    resumed,
    with_horizon,
)
from multihead.recipe.checking import refuse_contradictions
from multihead.recipe.loading import from_toml, load, with_model, with_vocabularies
from multihead.recipe.sections import DEFAULT_KIND, SECTION_NAMES, Recipe, section_types
from multihead.recipe.writing import to_toml

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
    "resumed",
    "section_types",
    "to_toml",
    "with_horizon",
    "with_model",
    "with_vocabularies",
]
