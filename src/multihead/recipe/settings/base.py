"""Base class of the sections of a recipe."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A frozen section of a recipe. Unknown keys are refused; the docstring below a key is its help text."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return class names unchanged. Raises ``ValueError`` if one is repeated."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"class_names: {', '.join(map(repr, repeated))} is repeated, but names must differ")
    return names
