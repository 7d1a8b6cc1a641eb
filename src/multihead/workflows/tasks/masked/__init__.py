"""Filling gaps: from texts to batches with gaps, and pairs of texts."""

from multihead.workflows.tasks.masked.data import ready
from multihead.workflows.tasks.masked.inspection import inspect

__all__ = ["inspect", "ready"]
