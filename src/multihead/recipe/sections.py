"""A recipe: everything that decides what a run will be, section by section."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from multihead import models
from multihead.settings import Settings, tasks

M_co = TypeVar("M_co", bound=Settings, covariant=True)

DEFAULT_KIND = "transformer"
"""The model of a recipe that names none."""

SECTION_NAMES = ("data", "tokenizer", "model", "training", "validation", "search")
"""All sections, in the order in which they are written; a task may leave some out."""


def section_types(kind: str) -> Mapping[str, type[Settings]]:
    """Return the settings class of each section that recipes of a model have, in order.

    Raises:
        UserError: there is no model of this name.
    """
    given = {**tasks.sections(models.task(kind)), "model": models.load(kind).Settings}
    return {name: given[name] for name in SECTION_NAMES if name in given}


@dataclass(frozen=True)
class Recipe(Generic[M_co]):
    """Every setting of a run.

    Of which classes the sections besides ``model`` are is a matter of the model's task: see
    ``multihead.settings.tasks``. One that the task leaves out is empty.

    Attributes:
        name: what the recipe is called; part of the default run folder's name.
        kind: which model, by its file name in ``multihead.models``; ``[model] kind`` in TOML.
        model: the model's own settings.
    """

    name: str
    kind: str
    data: Any
    tokenizer: Any
    model: M_co
    training: Any
    validation: Any
    search: Any

    @property
    def task(self) -> str:
        """What the model is trained for, one of ``settings.tasks``."""
        return models.task(self.kind)

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
