"""The translation task."""

from multihead.tasks.translation.data import setup
from multihead.tasks.translation.inspection import inspect

__all__ = ["inspect", "setup"]
