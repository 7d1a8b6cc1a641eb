"""Checkpoints of a run: tensors and what belongs to them, each one file that is whole or not there."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from multihead.errors import UserError
from multihead.run import files, tensors

STATES_KEPT = 2
"""Training states on disk: the newest, and the one before it should the newest be unreadable."""


LOG = logging.getLogger(__name__)


class Checkpoints:
    """A folder of checkpoints."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint_folder = folder

    def save_tensors(self, name: str, content: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Write a checkpoint, whole or not at all; one of the same name is replaced.

        Args:
            name: without folder and ending.
            content: tensors by name.
            meta: anything that JSON can hold.

        Raises:
            UserError: the disk refuses; an old checkpoint of this name is untouched.
        """
        tensors.save(self._checkpoint(name), content, meta)

    def load_tensors(self, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return a checkpoint's tensors and meta. Raises ``UserError`` where it is missing or damaged."""
        return tensors.load(self._checkpoint(name))

    def checkpoints(self) -> list[str]:
        """Return the names of all checkpoints, in alphabetical order."""
        return sorted(path.stem for path in self.checkpoint_folder.glob("*.safetensors"))

    def remove(self, name: str) -> None:
        """Remove a checkpoint, if it is there."""
        files.remove(self._checkpoint(name))

    def _checkpoint(self, name: str) -> Path:
        return self.checkpoint_folder / f"{name}.safetensors"

    def save_state(self, step: int, content: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Write the training state after a step, one file; the one before it is kept, older ones are not."""
        self.save_tensors(f"state-{step:010}", content, meta)
        for name in self._states()[:-STATES_KEPT]:
            self.remove(name)

    def _states(self) -> list[str]:
        return [name for name in self.checkpoints() if name.startswith("state-")]

    def load_state(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return tensors and meta of the newest training state that can be read, None before the first.

        A newer one that cannot be read is told in the log.

        Raises:
            UserError: there are states, and none of them can be read.
        """
        damaged: list[UserError] = []
        for name in reversed(self._states()):
            try:
                state = self.load_tensors(name)
            except UserError as error:
                damaged.append(error)
                continue
            for unreadable in damaged:
                LOG.warning("%s. Going on from %s.", unreadable, name)
            return state
        if damaged:
            remedy = "Remove the run folder and train again, or copy the checkpoints from a backup."
            raise UserError(damaged[0].fact, place=damaged[0].place, remedy=remedy)
        return None
