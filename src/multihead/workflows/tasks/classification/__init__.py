"""The text-classification task."""

from multihead.workflows.tasks.classification.data import setup
from multihead.workflows.tasks.classification.inspection import inspect

__all__ = ["inspect", "setup"]
