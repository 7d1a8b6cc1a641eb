"""How far a training has come: a few numbers, kept as JSON beside the tensors."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from multihead.data.stream import Position
from multihead.training.metrics import Interval


@dataclass
class Progress:
    """Everything that a training remembers besides tensors.

    Attributes:
        step: updates made.
        position: where in the data the next batch is.
        tokens: target tokens trained on.
        seconds: time spent in updates, over all starts.
        best: best value of the validation metric at a scheduled checkpoint, in its own sense of better.
        best_step: where that was.
        without_gain: scheduled validations since then.
        scheduled: steps of the scheduled checkpoints still on disk, oldest first.
        stopped: why training ended before its last step, "" if it did not.
        untold: the updates since the last line of metrics.jsonl.
    """

    step: int = 0
    position: Position = field(default_factory=Position)
    tokens: int = 0
    seconds: float = 0.0
    best: float | None = None
    best_step: int = 0
    without_gain: int = 0
    scheduled: list[int] = field(default_factory=list)
    stopped: str = ""
    untold: Interval = field(default_factory=Interval)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Progress":
        """Return what :meth:`to_dict` was made from.

        Raises:
            ValueError: it was made by something else.
        """
        try:
            untold = Interval.from_dict(saved.get("untold", {}))  # earlier versions told nothing of them
            found = cls(**{**saved, "position": Position(**saved["position"]), "untold": untold})
            found.scheduled = list(found.scheduled)
        except (KeyError, TypeError) as error:
            raise ValueError(f"no progress of a training: {error}") from None
        counts = (found.step, found.tokens, found.best_step, found.without_gain, *found.scheduled)
        for count in (*counts, found.position.epoch, found.position.batch):
            if type(count) is not int or count < 0:
                raise ValueError(f"no progress of a training: {count!r} where a count was")
        if not isinstance(found.best, float | int | None) or not isinstance(found.seconds, float | int):
            raise ValueError(
                f"no progress of a training: {found.best!r}, {found.seconds!r} where numbers were"
            )
        return found
