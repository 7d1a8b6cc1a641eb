"""The text-classification task."""

from multihead.tasks.classification.data import setup
from multihead.tasks.classification.inspection import inspect

__all__ = ["inspect", "setup"]
