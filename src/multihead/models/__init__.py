"""Models: a paper is one file, or one folder when it has stages; its name here is its name in a recipe.

A model's module offers ``Settings`` (what can be set, a ``multihead.settings.Settings``) and ``Model``
(an ``nn.Module`` made from them); and ``TASK``, what it is trained for (``multihead.settings.tasks``), where
that is not translation. Nothing is imported until it is asked for.
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
