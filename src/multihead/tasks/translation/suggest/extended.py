"""Models of one's own whose settings are those of a built-in model, or extend them."""

from multihead.recipe import Recipe, model_kinds
from multihead.recipe.settings import Settings


def sized_as(recipe: Recipe[Settings]) -> str:
    """Return the kind of model whose sizes suit a recipe's model: that of the settings that it shares."""
    base = _base(recipe)
    return base.__module__.rpartition(".")[2] if base else recipe.kind


def own_defaults(recipe: Recipe[Settings]) -> set[str]:
    """Return the settings, by dotted key, to which a model of one's own gives other defaults."""
    base = _base(recipe)
    if base is None:
        return set()
    return {
        f"model.{key}"
        for key, field in base.model_fields.items()
        if type(recipe.model).model_fields[key].default != field.default
    }


def _base(recipe: Recipe[Settings]) -> type[Settings] | None:
    """Return the settings of a built-in model among those that the recipe's model inherits."""
    prefix = f"{models.__name__}."
    return next((one for one in type(recipe.model).__mro__ if one.__module__.startswith(prefix)), None)
