"""Models: a paper is one file, or one folder when it has stages; its name here is its name in a recipe.

A model's module offers ``Settings`` (what can be set, a ``multihead.settings.Settings``) and ``Model``
(an ``nn.Module`` made from them). Nothing is imported until it is asked for.
"""

import difflib
import importlib
import pkgutil
from types import ModuleType

from multihead.errors import UserError


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
