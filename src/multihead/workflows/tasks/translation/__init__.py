"""The translation task."""

from multihead.workflows.tasks.translation.data import ready
from multihead.workflows.tasks.translation.inspection import inspect

__all__ = ["inspect", "ready"]
