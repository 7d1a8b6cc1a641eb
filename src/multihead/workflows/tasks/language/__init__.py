"""The language-modelling task."""

from multihead.workflows.tasks.language.data import setup
from multihead.workflows.tasks.language.inspection import inspect

__all__ = ["inspect", "setup"]
