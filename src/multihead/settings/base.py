"""What every section of a recipe is."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A frozen section of a recipe; unknown keys are refused. The docstring below a key is its help text."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of classes, of which none occurs twice. Raises ``ValueError`` where one does."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"class_names: {', '.join(map(repr, twice))} twice, but each stands for another class"
        )
    return names
