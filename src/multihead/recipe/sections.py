"""A recipe: everything that decides what a run will be, section by section."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from multihead.settings import (
    DataSettings,
    SearchSettings,
    Settings,
    TokenizerSettings,
    TrainingSettings,
    ValidationSettings,
)

M_co = TypeVar("M_co", bound=Settings, covariant=True)

DEFAULT_KIND = "transformer"
"""The model of a recipe that names none."""

SECTIONS: dict[str, type[Settings]] = {
    "data": DataSettings,
    "tokenizer": TokenizerSettings,
    "training": TrainingSettings,
    "validation": ValidationSettings,
    "search": SearchSettings,
}
"""The sections that are the same for every model; ``model`` stands between tokenizer and training."""

SECTION_NAMES = ("data", "tokenizer", "model", "training", "validation", "search")
"""All sections, in the order in which they are written."""


@dataclass(frozen=True)
class Recipe(Generic[M_co]):
    """Every setting of a run.

    Attributes:
        name: what the recipe is called; part of the default run folder's name.
        kind: which model, by its file name in ``multihead.models``; ``[model] kind`` in TOML.
        model: the model's own settings.
    """

    name: str
    kind: str
    data: DataSettings
    tokenizer: TokenizerSettings
    model: M_co
    training: TrainingSettings
    validation: ValidationSettings
    search: SearchSettings

    def section(self, name: str) -> Settings:
        """Return a section by its name, one of ``SECTION_NAMES``."""
        assert name in SECTION_NAMES, name
        section: Settings = getattr(self, name)
        return section

    def values(self) -> dict[str, object]:
        """Return every setting by its dotted key, ``{"training.steps": 10000, ...}``, in a fixed order."""
        found: dict[str, object] = {"name": self.name}
        for name in SECTION_NAMES:
            if name == "model":
                found["model.kind"] = self.kind
            section = self.section(name)
            found.update({f"{name}.{key}": getattr(section, key) for key in type(section).model_fields})
        return found
