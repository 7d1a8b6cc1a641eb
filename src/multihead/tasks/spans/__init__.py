"""The task of spans: answers to questions as parts of a text."""

from multihead.tasks.spans.data import setup
from multihead.tasks.spans.inspection import inspect

__all__ = ["inspect", "setup"]
