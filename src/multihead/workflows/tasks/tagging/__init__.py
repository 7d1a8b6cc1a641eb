"""The tagging task: one output for each word."""

from multihead.workflows.tasks.tagging.data import setup
from multihead.workflows.tasks.tagging.inspection import inspect

__all__ = ["inspect", "setup"]
