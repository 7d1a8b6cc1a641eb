"""Optional libraries, which ``pip install 'multihead[export]'`` installs."""

from importlib import import_module
from typing import Any

from multihead.errors import UserError


def import_library(name: str) -> Any:
    """Import a module by its name. Raises ``UserError`` if its library is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        remedy = "Run: pip install 'multihead[export]'"
        raise UserError(f"{name.partition('.')[0]} is not installed ({error})", remedy=remedy) from error
