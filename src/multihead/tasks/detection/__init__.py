"""The object-detection task."""

from multihead.tasks.detection.data import setup
from multihead.tasks.detection.inspection import inspect

__all__ = ["inspect", "setup"]
