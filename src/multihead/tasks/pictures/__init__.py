"""The image-classification task."""

from multihead.tasks.pictures.data import setup
from multihead.tasks.pictures.inspection import inspect

__all__ = ["inspect", "setup"]
