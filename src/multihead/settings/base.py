"""What every section of a recipe is."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A frozen section of a recipe; unknown keys are refused. The docstring below a key is its help text."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
