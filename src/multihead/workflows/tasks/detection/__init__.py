"""The object-detection task."""

from multihead.workflows.tasks.detection.data import setup
from multihead.workflows.tasks.detection.inspection import inspect

__all__ = ["inspect", "setup"]
