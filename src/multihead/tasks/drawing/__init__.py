"""The text-to-image task."""

from multihead.tasks.drawing.data import setup
from multihead.tasks.drawing.inspection import inspect

__all__ = ["inspect", "setup"]
