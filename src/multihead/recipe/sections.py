"""A recipe: all settings of a run, in sections."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from multihead.errors import UserError
from multihead.recipe import model_kinds, tasks
from multihead.recipe.settings import Settings
from multihead.system import plugins

M_co = TypeVar("M_co", bound=Settings, covariant=True)

DEFAULT_KIND = "transformer"
"""Default of ``model.kind``."""

SECTION_NAMES = ("data", "tokenizer", "model", "training", "validation", "search")
"""All sections, in the order they are written; a task need not have all."""


def section_types(kind: str) -> Mapping[str, type[Settings]]:
    """Return the settings class of each section of a model's recipes, in order.

    Raises:
        UserError: no such model.
    """
    types = {**tasks.get_task(model_kinds.task(kind)).sections, "model": model_kinds.load(kind).Settings}
    if unknown := types.keys() - {*SECTION_NAMES}:
        remedy = f"Sections are {', '.join(SECTION_NAMES)}."
        raise UserError(
            f'its task has a section "{min(unknown)}"', place=plugins.display_name(kind), remedy=remedy
        )
    return {name: types[name] for name in SECTION_NAMES if name in types}


@dataclass(frozen=True)
class Recipe(Generic[M_co]):
    """All settings of a run.

    The classes of the sections other than ``model`` depend on the task of the model, see
    ``multihead.recipe.tasks``. A section that the task lacks is empty.

    Attributes:
        name: name of the recipe; part of the name of the default run folder.
        kind: the model, named by its module in ``multihead.models``; ``[model] kind`` in TOML.
        model: settings of the model.
        reasons: why settings were chosen for the corpus, by dotted key; written as comments.
        alternative: a recipe that may suit the corpus as well, see ``workflows.trial``.
    """

    name: str
    kind: str
    data: Any
    tokenizer: Any
    model: M_co
    training: Any
    validation: Any
    search: Any
    reasons: Mapping[str, str] = field(default_factory=dict, compare=False)
    alternative: "Recipe[M_co] | None" = field(default=None, compare=False)

    @property
    def task(self) -> str:
        """Task of the model, one of the registered tasks."""
        return model_kinds.task(self.kind)

    @property
    def is_open(self) -> bool:
        """True if a corpus decides what the recipe does not name, because it names no ``training.steps``."""
        named = self.training.model_fields_set
        return tasks.get_task(self.task).suggest is not None and "steps" not in named

    def section(self, name: str) -> Settings:
        """Return a section by name, one of ``SECTION_NAMES``."""
        assert name in SECTION_NAMES, name
        section: Settings = getattr(self, name)
        return section

    def values(self) -> dict[str, object]:
        """Return all settings by dotted key, ``{"training.steps": 10000, ...}``, in a fixed order."""
        values: dict[str, object] = {"name": self.name}
        for name in SECTION_NAMES:
            if name == "model":
                values["model.kind"] = self.kind
            section = self.section(name)
            values.update({f"{name}.{key}": getattr(section, key) for key in type(section).model_fields})
        return values
