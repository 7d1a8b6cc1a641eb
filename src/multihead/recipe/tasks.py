"""Tasks that models are trained for: each registers itself as one :class:`Task`.

A task of the package is a folder ``multihead/tasks/NAME`` whose ``__init__`` defines ``TASK``; one from
outside is a module with ``TASK``: an entry point of the group ``multihead.tasks``, or a Python file that the
user names (``multihead.system.plugins``). Nothing else lists the tasks. The parts of a task are imported on
first use, so that a translation by the native kernels starts without PyTorch.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multihead.errors import UserError
from multihead.system import plugins

if TYPE_CHECKING:
    from multihead.recipe.settings.base import Settings

GROUP = "multihead.tasks"
"""Entry points of installed packages."""
FOLDER = Path(__file__).parents[1] / "tasks"

Part = str | Callable[..., Any]
"""A function or class, or its place "package.module:attribute", imported on first use."""


@dataclass(frozen=True)
class Task:
    """A task: what a model of it is trained on, how it is validated, and what a trained run can do.

    Attributes:
        name: name of the task, as in a model's ``TASK`` and in ``multihead.load(task=...)``.
        work: name in messages, e.g. "translation" in "trained for translation".
        settings: the settings class of each section of its recipes except ``model``, or their place.
        setup: ``setup(recipe, device, *, progress, init_run)`` prepares data and validation, see
            ``multihead.tasks.base.TaskSetup``.
        suggest: ``suggest(recipe, init_run)`` returns settings for a corpus in the place of those that the
            recipe leaves open, see ``multihead.tasks.suggest_for_texts``; None: they have fixed defaults.
        load: ``load(*run_folders, device=..., **options)`` returns what ``multihead.load`` does.
        inspect: ``inspect(run, request)`` returns an ``Inspection``; None: nothing to inspect.
        evaluate: ``evaluate(folder, files, device)`` returns scores by test set.
        commands: commands of its own, by name: the place of their modules.
        use: the command that uses a trained run, with ``{run}`` for the run folder; None: there is none.
        speed_unit: unit of training speed, see ``Batch.tokens``.
        ensembles: whether ``load`` takes several runs.
    """

    name: str
    work: str
    settings: "str | Mapping[str, type[Settings]]"
    setup: Part
    suggest: Part | None = None
    load: Part | None = None
    inspect: Part | None = None
    evaluate: Part | None = None
    commands: Mapping[str, str] = field(default_factory=dict)
    use: str | None = None
    speed_unit: str = "tokens"
    ensembles: bool = False

    @property
    def sections(self) -> "Mapping[str, type[Settings]]":
        """The settings class of each section of the task's recipes, except ``model``."""
        sections: Mapping[str, type[Settings]] = _import(self.settings)
        return sections

    def part(self, name: str) -> Callable[..., Any]:
        """Return the part ``name``, imported on first use.

        Raises:
            UserError: the task has no such part.
        """
        part = getattr(self, name)
        if part is None:
            fact = f"the task {plugins.display_name(self.name)} has no part `{name}`"
            raise UserError(
                fact, remedy=f"Give its Task an argument {name}=..., see docs/how-to/extending.md."
            )
        function: Callable[..., Any] = _import(part)
        return function


def _import(part: Any) -> Any:
    if not isinstance(part, str):
        return part
    module, _, attribute = part.partition(":")
    return attrgetter(attribute)(importlib.import_module(module))


def names() -> list[str]:
    """Return the names of the package's own tasks, sorted; none is imported."""
    return sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))


def tasks() -> Sequence[Task]:
    """Return the package's own tasks."""
    return [get_task(name) for name in names()]


def is_outside(name: str) -> bool:
    """Return whether a task comes from outside the package."""
    return name not in names()


def get_task(name: str) -> Task:
    """Return a task by its name.

    Raises:
        UserError: there is no such task; a file that the user has not named; code that fails.
    """
    if not is_outside(name):
        module = importlib.import_module(f"multihead.tasks.{name}")
    elif plugins.is_record(name):
        module = plugins.load_file(name)
    elif entry := plugins.installed_entry_points(GROUP, names()).get(name):
        module = plugins.load_installed(entry)
    else:
        available = ", ".join([*names(), *plugins.installed_entry_points(GROUP, names())])
        raise UserError(f'there is no task "{name}"', remedy=f"Known tasks: {available}. A file ends in .py.")
    task: object = getattr(module, "TASK", None)
    if not isinstance(task, Task):
        remedy = "A task's module defines TASK = Task(...), see docs/how-to/extending.md."
        raise UserError("its TASK is not a Task", place=str(module.__file__ or name), remedy=remedy)
    return task
