"""Checkpoints of a run: tensors with their metadata, one file each, replaced atomically."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from multihead.errors import UserError
from multihead.run import files, tensors
from multihead.run.origin import Origin

if TYPE_CHECKING:
    from torch import Tensor

STATES_KEPT = 2
"""Training states on disk: the newest, and the one before it in case the newest is damaged."""
STATE, SCHEDULED, BEST = "state-", "weights-", "best"
"""Names of checkpoints: states and scheduled weights, each followed by its step; the best weights."""
Tensors: TypeAlias = "dict[str, Tensor]"
Meta = dict[str, Any]

LOG = logging.getLogger(__name__)


class CheckpointFolder:
    """A folder of checkpoints."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint_folder = folder
        self._rejected: set[str] = set()

    @property
    def origin(self) -> Origin:
        """The training that all checkpoints come from, see ``run.origin``."""
        return Origin()

    @property
    def sealed(self) -> bool:
        """True if a checkpoint without a checksum is refused."""
        return False

    def save_tensors(self, name: str, content: "Mapping[str, Tensor]", meta: Mapping[str, Any]) -> None:
        """Write a checkpoint, whole or not at all; one of the same name is replaced.

        Args:
            name: without folder and suffix.
            content: tensors by name.
            meta: anything that JSON can hold.

        Raises:
            UserError: the disk refuses; an old checkpoint of this name is untouched.
        """
        tensors.save(self.path_of(name), content, meta, self.origin)

    def load_tensors(self, name: str) -> tuple[Tensors, Meta]:
        """Return a checkpoint's tensors and metadata.

        Raises:
            UserError: it is missing or damaged, or belongs to another run.
        """
        path = self.path_of(name)
        with tensors.reading(path) as content:
            content.check(self.origin, path, sealed=self.sealed)
            check_step(path, content.meta)
            return content.tensors, content.meta

    def checkpoints(self) -> list[str]:
        """Return the names of all checkpoints, in alphabetical order."""
        return sorted(path.stem for path in self.checkpoint_folder.glob("*.safetensors"))

    def remove(self, name: str) -> None:
        """Remove a checkpoint if it exists."""
        files.remove(self.path_of(name))

    def path_of(self, name: str) -> Path:
        """Return the file of a checkpoint."""
        return self.checkpoint_folder / f"{name}.safetensors"

    def save_state(
        self, step: int, content: "Mapping[str, Tensor]", meta: Mapping[str, Any], keep: int = 0
    ) -> None:
        """Write the training state after a step, one file. The one before it is kept, older ones are removed.

        Rejected states do not count; they stay until training has come to their steps again.

        Args:
            step: number of updates.
            content: tensors by name.
            meta: anything that JSON can hold.
            keep: step of a further state that is kept; 0: none.
        """
        newest = checkpoint_name(STATE, step)
        self.save_tensors(newest, content, meta)
        self._rejected.discard(newest)
        reached = [name for name in self.states() if name <= newest]
        latest = [name for name in reached if name not in self._rejected][-STATES_KEPT:]
        for name in reached:
            if name not in latest and not (keep and name == checkpoint_name(STATE, keep)):
                self.remove(name)

    def states(self) -> list[str]:
        """Return the names of the training states, oldest first."""
        return [name for name in self.checkpoints() if name.startswith(STATE)]

    def go_back_to(self, step: int) -> None:
        """Remove the training states of later steps."""
        for name in self.states():
            if name > checkpoint_name(STATE, step):
                self.remove(name)

    def load_state(
        self, accept: Callable[[Tensors, Meta], object] | None = None
    ) -> tuple[Tensors, Meta] | None:
        """Return tensors and metadata of the newest training state that is whole, None before the first.

        Each newer one that is rejected is logged with the reason.

        Args:
            accept: restores a state, or raises ``UserError`` or ValueError if it does not fit; the state
                before it is tried then.

        Raises:
            UserError: there are states, and each of them is rejected.
        """
        rejected: list[UserError] = []
        for name in reversed(self.states()):
            try:
                state = self.load_tensors(name)
                if accept:
                    accept(*state)
            except (UserError, ValueError) as error:
                rejected.append(self._rejection(name, error))
                self._rejected.add(name)
                continue
            for reason in rejected:
                LOG.warning("%s. Resuming from %s.", str(reason).rstrip("."), name)
            return state
        if rejected:
            remedy = (
                "Start with the model and the optimiser that the run began with; if neither has changed, "
                "copy the checkpoints from a backup, or train in another --run folder."
            )
            older = "".join(f"; {Path(str(error.place)).name}: {error.fact}" for error in rejected[1:])
            raise UserError(f"{rejected[0].fact}{older}", place=rejected[0].place, remedy=remedy)
        return None

    def _rejection(self, name: str, error: UserError | ValueError) -> UserError:
        fact = error.fact if isinstance(error, UserError) else str(error)
        return UserError(fact, place=str(self.path_of(name)))


def checkpoint_name(prefix: str, step: int) -> str:
    """Return the name of the checkpoint of a step; names sort as their steps do."""
    return f"{prefix}{step:010}"


def check_step(path: Path, meta: Mapping[str, Any]) -> None:
    """Refuse a checkpoint that lies under the name of another step. Raises ``UserError``."""
    prefix, dash, step = path.stem.partition("-")
    if prefix + dash in (STATE, SCHEDULED) and step.isdecimal() and meta.get("step") != int(step):
        fact = f"made after step {meta.get('step')}, not after the one in its name"
        raise UserError(fact, place=str(path), remedy="Copy the run folder again as a whole.")
