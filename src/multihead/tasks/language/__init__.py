"""The language-modelling task."""

from multihead.tasks.language.data import setup
from multihead.tasks.language.inspection import inspect

__all__ = ["inspect", "setup"]
