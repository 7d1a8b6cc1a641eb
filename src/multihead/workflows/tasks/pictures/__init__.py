"""The image-classification task."""

from multihead.workflows.tasks.pictures.data import setup
from multihead.workflows.tasks.pictures.inspection import inspect

__all__ = ["inspect", "setup"]
