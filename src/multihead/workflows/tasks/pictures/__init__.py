"""Classes of pictures: from picture files to batches of pixels."""

from multihead.workflows.tasks.pictures.data import ready
from multihead.workflows.tasks.pictures.inspection import inspect

__all__ = ["inspect", "ready"]
