"""Tasks: what models are trained for. A task is a file here and one of the same name in ``workflows/tasks``.

A model says which one is its own: ``TASK = "language"`` in its module, "translation" where it says nothing.
The file here has ``SECTIONS``, the settings class of each section of a recipe besides ``model`` (what a task
has no use for is left out), ``WORK`` and ``USE``, what a trained run is good for and the command that uses
it, and ``SPEED_UNIT``, where it is not "tokens".
"""

import importlib
import pkgutil
from collections.abc import Mapping

from multihead.settings.base import Settings


def names() -> list[str]:
    """Return the names of all tasks, in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def sections(task: str) -> Mapping[str, type[Settings]]:
    """Return the settings class of each section that recipes of a task have, ``model`` left out."""
    found: Mapping[str, type[Settings]] = importlib.import_module(f"{__name__}.{task}").SECTIONS
    return found


def use(task: str) -> str:
    """Return the command that uses a trained run of a task; ``{run}`` stands for the run folder."""
    command: str = importlib.import_module(f"{__name__}.{task}").USE
    return command


def work(task: str) -> str:
    """Return what a trained run of a task is good for, in words: "trained for translating"."""
    found: str = importlib.import_module(f"{__name__}.{task}").WORK
    return found


def speed_unit(task: str) -> str:
    """Return what the speed of training is told in, see ``Batch.tokens``."""
    found: str = getattr(importlib.import_module(f"{__name__}.{task}"), "SPEED_UNIT", "tokens")
    return found
