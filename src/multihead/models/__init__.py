"""Models: one file per paper, or a folder if it has stages. The file's name is the model's kind in a recipe.

A model's module defines ``Settings`` (a ``multihead.settings.Settings``) and ``Model``, an ``nn.Module`` made
from them; unless it translates, also ``TASK``, its task (``multihead.settings.tasks``). Modules are imported
on first use.
"""

import difflib
import importlib
import pkgutil
from types import ModuleType

from multihead.errors import UserError

DEFAULT_TASK = "translation"
"""The task of a model whose module has no ``TASK``."""


def kinds() -> list[str]:
    """Return the names of all models, in alphabetical order, without importing any of them."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def load(kind: str) -> ModuleType:
    """Return the module of a model.

    Raises:
        UserError: there is no model of this name.
    """
    known = kinds()
    if kind not in known:
        near = difflib.get_close_matches(kind, known, n=1)
        remedy = f'Did you mean "{near[0]}"?' if near else f"Known models: {', '.join(known)}."
        raise UserError(f'there is no model "{kind}"', remedy=remedy)
    return importlib.import_module(f"{__name__}.{kind}")


def task(kind: str) -> str:
    """Return the task of a model, one of ``settings.tasks``. Raises as ``load`` does."""
    found: str = getattr(load(kind), "TASK", DEFAULT_TASK)
    return found
