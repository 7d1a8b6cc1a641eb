"""The text-to-image task."""

from multihead.workflows.tasks.drawing.data import setup
from multihead.workflows.tasks.drawing.inspection import inspect

__all__ = ["inspect", "setup"]
