"""Tasks that models are trained for, each a file here and a folder of the same name in ``workflows/tasks``.

A model names its task in its module, ``TASK = "language"``; the default is "translation". The file here has
``SECTIONS``, the settings class of each section of its recipes except ``model``; ``WORK``, the name of the
task in messages; ``USE``, the command that uses a trained run; and ``SPEED_UNIT``, the unit of training speed
if it is not "tokens".
"""

import importlib
import pkgutil
from collections.abc import Mapping

from multihead.settings.base import Settings


def names() -> list[str]:
    """Return the names of all tasks, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def sections(task: str) -> Mapping[str, type[Settings]]:
    """Return the settings class of each section of a task's recipes, except ``model``."""
    found: Mapping[str, type[Settings]] = importlib.import_module(f"{__name__}.{task}").SECTIONS
    return found


def use(task: str) -> str:
    """Return the command that uses a trained run of a task, with ``{run}`` for the run folder."""
    command: str = importlib.import_module(f"{__name__}.{task}").USE
    return command


def work(task: str) -> str:
    """Return the name of a task in messages, e.g. "translation" in "trained for translation"."""
    found: str = importlib.import_module(f"{__name__}.{task}").WORK
    return found


def speed_unit(task: str) -> str:
    """Return the unit of training speed, see ``Batch.tokens``."""
    found: str = getattr(importlib.import_module(f"{__name__}.{task}"), "SPEED_UNIT", "tokens")
    return found
