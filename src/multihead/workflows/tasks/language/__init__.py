"""Language models: from text files to batches of running text."""

from multihead.workflows.tasks.language.data import ready
from multihead.workflows.tasks.language.inspection import inspect

__all__ = ["inspect", "ready"]
