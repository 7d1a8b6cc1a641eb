"""The masked-language-modelling task."""

from multihead.tasks.masked.data import setup
from multihead.tasks.masked.inspection import inspect

__all__ = ["inspect", "setup"]
