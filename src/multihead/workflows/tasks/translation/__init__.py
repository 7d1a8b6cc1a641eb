"""The translation task."""

from multihead.workflows.tasks.translation.data import setup
from multihead.workflows.tasks.translation.inspection import inspect

__all__ = ["inspect", "setup"]
