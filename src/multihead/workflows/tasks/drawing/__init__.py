"""Pictures for captions: from captioned pictures to batches."""

from multihead.workflows.tasks.drawing.data import ready
from multihead.workflows.tasks.drawing.inspection import inspect

__all__ = ["inspect", "ready"]
