"""Classes of texts: from tables of texts and labels to batches."""

from multihead.workflows.tasks.classification.data import ready
from multihead.workflows.tasks.classification.inspection import inspect

__all__ = ["inspect", "ready"]
