"""Reports of a training: validations, progress events, its outcome."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from multihead.training.progress import TrainingProgress


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of a validation.

    Attributes:
        metrics: metrics by name.
        samples: sample outputs as text.
        selectable: True if the metrics count for model selection and early stopping. A model trained in
            stages is selectable in its last stage only.
    """

    metrics: dict[str, float]
    samples: str = ""
    selectable: bool = True


class Observer(Protocol):
    """Receives progress events."""

    def on_step(self, step: int) -> None:
        """Called after every update."""
        ...

    def on_log(self, event: dict[str, Any]) -> None:
        """Called with the training metrics every ``training.log_every`` updates."""
        ...

    def on_validation(self, event: dict[str, Any], samples: str) -> None:
        """Called after each scheduled validation."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a training run.

    Attributes:
        status: "finished", or "interrupted" (the same command resumes it).
        progress: its progress.
        weights: the selected weights ("average", "best", ...); "" if interrupted.
        metrics: validation metrics of these weights.
        signal: number of the signal that interrupted it; 0: none.
    """

    status: Literal["finished", "interrupted"]
    progress: TrainingProgress
    weights: str = ""
    metrics: dict[str, float] | None = None
    signal: int = 0
