"""The run folder: written and read, safe against a crash at any moment."""

from multihead.run.environment import environment, file_hashes
from multihead.run.folder import Run

__all__ = ["Run", "environment", "file_hashes"]
