"""The tagging task: one output for each word."""

from multihead.tasks.tagging.data import setup
from multihead.tasks.tagging.inspection import inspect

__all__ = ["inspect", "setup"]
