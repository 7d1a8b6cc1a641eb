"""Tasks that models are trained for, each a file here and a folder of the same name in ``tasks``.

A model names its task in its module, ``TASK = "language"``; the default is "translation". The file here has
``SECTIONS``, the settings class of each section of its recipes except ``model``; ``WORK``, the name of the
task in messages; ``USE``, the command that uses a trained run; and ``SPEED_UNIT``, the unit of training speed
if it is not "tokens".

A task from outside the package is one module with all of this and with what ``workflows.tasks`` asks for:
an entry point of the group ``multihead.tasks``, or a Python file that a model's ``TASK`` names
(``multihead.system.plugins``). It may leave out ``USE``, and offer ``load`` for ``multihead.load``.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType

from multihead.errors import UserError
from multihead.recipe.settings.base import Settings
from multihead.system import plugins

GROUP = "multihead.tasks"
"""Entry points of installed packages."""


def names() -> list[str]:
    """Return the names of the tasks of this package, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def outside(task: str) -> ModuleType | None:
    """Return the module of a task from outside the package, None for one of the package.

    Raises:
        UserError: there is no such task; a file that the user has not named; code that fails.
    """
    if task in names():
        return None
    if plugins.is_record(task):
        module = plugins.load_file(task)
    elif entry := plugins.installed(GROUP, names()).get(task):
        module = plugins.load_installed(entry)
    else:
        known = ", ".join([*names(), *plugins.installed(GROUP, names())])
        raise UserError(f'there is no task "{task}"', remedy=f"Known tasks: {known}. A file ends in .py.")
    for name in ("SECTIONS", "WORK", "setup"):
        if not hasattr(module, name):
            remedy = "A task's module has SECTIONS, WORK and setup, see docs/how-to/extending.md."
            raise UserError(f"it has no {name}", place=str(module.__file__ or task), remedy=remedy)
    return module


def _settings(task: str) -> ModuleType:
    return outside(task) or importlib.import_module(f"{__name__}.{task}")


def sections(task: str) -> Mapping[str, type[Settings]]:
    """Return the settings class of each section of a task's recipes, except ``model``."""
    found: Mapping[str, type[Settings]] = _settings(task).SECTIONS
    return found


def use(task: str) -> str | None:
    """Return the command that uses a trained run of a task, with ``{run}`` for the run folder.

    None: a task from outside the package for which there is no command.
    """
    command: str | None = getattr(_settings(task), "USE", None)
    return command


def work(task: str) -> str:
    """Return the name of a task in messages, e.g. "translation" in "trained for translation"."""
    found: str = _settings(task).WORK
    return found


def speed_unit(task: str) -> str:
    """Return the unit of training speed, see ``Batch.tokens``."""
    found: str = getattr(_settings(task), "SPEED_UNIT", "tokens")
    return found
