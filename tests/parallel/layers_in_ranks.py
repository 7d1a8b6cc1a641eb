"""Changed layers and outside models in each of several processes that train together."""

import os
from typing import Any

from multihead import recipe
from multihead.workflows.same_start import recipe_of_first


def named() -> str:
    """Return the name of the model of a recipe that the first process alone reads."""
    path = os.environ["TEST_MODEL"]
    return recipe_of_first(lambda: recipe.from_toml("", overrides={"model.kind": path})).kind


def all_of_them() -> dict[str, Any]:
    return {"named": named()}
