"""The task of the odd one out of a set of images."""

from multihead.tasks.sets.data import setup
from multihead.tasks.sets.inspection import inspect

__all__ = ["inspect", "setup"]
