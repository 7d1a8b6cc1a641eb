"""The run folder of a process that does not write: of several processes that train, the first one writes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from multihead.run.folder import Run

if TYPE_CHECKING:
    from torch import Tensor


class FollowingRun(Run):
    """A run folder whose writing methods do nothing, and which has no checkpoints to read.

    The folder need not exist: it may lie on another machine's disk.
    """

    def log(self, event: Mapping[str, Any]) -> None:
        """See ``Run.log``."""

    def add_samples(self, step: int, text: str) -> None:
        """See ``Run.add_samples``."""

    def truncate_after(self, step: int, *, validated: bool = True) -> None:
        """See ``Run.truncate_after``."""

    def save_state(
        self, step: int, content: "Mapping[str, Tensor]", meta: Mapping[str, Any], keep: int = 0
    ) -> None:
        """See ``Run.save_state``."""

    def save_tensors(self, name: str, content: "Mapping[str, Tensor]", meta: Mapping[str, Any]) -> None:
        """See ``Run.save_tensors``."""

    def save_model(self, weights: "Mapping[str, Tensor]", meta: Mapping[str, Any]) -> None:
        """See ``Run.save_model``."""

    def checkpoints(self) -> list[str]:
        """Return no names."""
        return []

    def remove(self, name: str) -> None:
        """See ``Run.remove``."""

    def write_text(self, name: str, text: str) -> None:
        """See ``Run.write_text``."""
