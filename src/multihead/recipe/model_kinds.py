"""Kinds of models: one file per paper in ``multihead/models``; its name is the kind in a recipe.

A model's module defines ``Settings`` (a ``multihead.recipe.settings.Settings``) and ``Model``, an
``nn.Module`` made from them; unless it translates, also ``TASK``, the name of its task or a ``Task``. A
model from outside the package is the same module: an entry point of the group ``multihead.models``, or a
Python file that the user names (``multihead.system.plugins``); its ``TASK`` may also be the path of a
Python file, relative to its folder. Modules are imported on first use.
"""

import difflib
import importlib
import pkgutil
from functools import cache
from pathlib import Path
from types import ModuleType

from multihead.errors import UserError
from multihead.recipe.tasks import Task
from multihead.system import plugins

DEFAULT_TASK = "translation"
"""The task of a model whose module has no ``TASK``."""

GROUP = "multihead.models"
"""The package of the models, and the entry points of installed packages."""
FOLDER = Path(__file__).parents[1] / "models"


def built_in() -> list[str]:
    """Return the names of the models of this package, in alphabetical order, without importing any."""
    modules = pkgutil.iter_modules([str(FOLDER)])
    return sorted(module.name for module in modules if not module.name.startswith("_"))


def names() -> list[str]:
    """Return the names of all models, installed ones included, in alphabetical order; none is imported."""
    shipped = built_in()
    return sorted([*shipped, *plugins.installed_entry_points(GROUP, shipped)])


def name_kind(kind: str) -> str:
    """Return the name of a model given on the command line; of a Python file's path its record.

    Raises:
        UserError: a file that cannot be read.
    """
    return plugins.name_file(kind) if plugins.is_path(kind) else kind


def in_use(kind: str) -> str:
    """Return the name of the model that is loaded for a name: the record of a changed file is another one.

    Raises:
        UserError: see :func:`load`.
    """
    return plugins.in_use(kind) if plugins.is_record(kind) else kind


def load(kind: str) -> ModuleType:
    """Return the module of a model.

    Raises:
        UserError: there is no model of this name; a file that the user has not named; code that fails.
    """
    if kind in built_in():
        return importlib.import_module(f"{GROUP}.{kind}")
    if plugins.is_record(kind):
        return _complete(plugins.load_file(kind), kind)
    if entry := plugins.installed_entry_points(GROUP, built_in()).get(kind):
        return _complete(plugins.load_installed(entry), kind)
    if plugins.is_path(kind):
        raise UserError(
            f'"{kind}" is a Python file, which is executed only where you name it yourself',
            remedy="Name it on the command line: --model.kind FILE, or --model.file FILE.",
        )
    near = difflib.get_close_matches(kind, names(), n=1)
    remedy = f'Did you mean "{near[0]}"?' if near else f"Known models: {', '.join(names())}."
    raise UserError(f'there is no model "{kind}"', remedy=f"{remedy} A file of your own ends in .py.")


def _complete(module: ModuleType, kind: str) -> ModuleType:
    for name in ("Settings", "Model"):
        if not isinstance(getattr(module, name, None), type):
            remedy = "A model's module has Settings and Model, see docs/how-to/extending.md."
            raise UserError(f"it has no class {name}", place=_place(module, kind), remedy=remedy)
    return module


def _place(module: ModuleType, kind: str) -> str:
    return str(module.__file__ or kind)


@cache
def _task_file(kind: str, path: str, folder: Path) -> str:
    """Return the record of the task's file that a model's code names: the user named the model's."""
    return plugins.name_file(path, folder)


def task(kind: str) -> str:
    """Return the task of a model, one of the registered tasks. Raises as ``load`` does."""
    module = load(kind)
    task_of_module: object = getattr(module, "TASK", DEFAULT_TASK)
    if isinstance(task_of_module, Task):  # model and task share a file
        return in_use(kind) if plugins.is_record(kind) else task_of_module.name
    if not isinstance(task_of_module, str):
        place = _place(module, kind)
        raise UserError("TASK is not a text", place=place, remedy='Write TASK = "translation".')
    if plugins.is_path(task_of_module):
        return _task_file(in_use(kind), task_of_module, Path(_place(module, kind)).parent)
    return task_of_module


def distribution(kind: str) -> dict[str, str]:
    """Return name and version of the installed package that a model comes from, none for any other."""
    return {} if kind in built_in() else dict(plugins.distributions(GROUP, kind))


def name_of(settings: type) -> str:
    """Return the name of the model whose ``Settings`` this class is, for a message."""
    module = settings.__module__
    return plugins.file_of(module) or module.removeprefix(f"{GROUP}.").partition(".")[0]
