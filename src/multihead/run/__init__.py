"""The run folder: written and read, safe against a crash at any moment."""

from multihead.run.checkpoints import State
from multihead.run.environment import environment, file_hashes
from multihead.run.folder import Run

__all__ = ["Run", "State", "environment", "file_hashes"]
