"""The task of spans: answers to questions as parts of a text."""

from multihead.workflows.tasks.spans.data import setup
from multihead.workflows.tasks.spans.inspection import inspect

__all__ = ["inspect", "setup"]
