"""The masked-language-modelling task."""

from multihead.workflows.tasks.masked.data import setup
from multihead.workflows.tasks.masked.inspection import inspect

__all__ = ["inspect", "setup"]
