"""Scheduled checkpoints: the weights to be averaged, the best weights, and early stopping.

Only validations at multiples of ``validation.every`` count, never a state saved in between or at the end of a
run. So a run that is interrupted, or extended, arrives at the same weights.
"""

from functools import partial

from multihead.run import Run
from multihead.settings import ValidationSchedule
from multihead.training.model_selection import Load, Weights, is_better
from multihead.training.progress import Progress

BEST = "best"
PREFIX = "weights-"


class Checkpoints:
    """The scheduled checkpoints of a run.

    Args:
        run: the run folder.
        validation: validation metric and patience.
        averaged: number of checkpoints to average at the end.
    """

    def __init__(self, run: Run, validation: ValidationSchedule, averaged: int) -> None:
        self.run, self.validation, self.averaged = run, validation, averaged

    def add(self, progress: Progress, weights: Weights, metrics: dict[str, float]) -> bool:
        """Save a scheduled checkpoint, and update best value, patience and early stopping in ``progress``.

        Returns:
            True if it is the best so far.
        """
        step, value = progress.step, metrics[self.validation.metric]
        better = progress.best is None or is_better(value, progress.best, self.validation.metric)
        if better:
            progress.best, progress.best_step, progress.without_gain = value, step, 0
            self.run.save_tensors(BEST, weights, {"step": step, "metrics": metrics})
        else:
            progress.without_gain += 1
        patience = self.validation.patience
        if patience and progress.without_gain >= patience:
            progress.stopped = (
                f"early stopping: {self.validation.metric} has not improved on {progress.best:.4g} "
                f"(step {progress.best_step}) in {patience} validations"
            )
        self.run.save_tensors(_name(step), weights, {"step": step})
        # One more than is averaged, in case the newest state turns out to be unreadable.
        progress.scheduled = [*progress.scheduled, step][-self.averaged - 1 :]
        return better

    def clear(self, progress: Progress) -> None:
        """Remove the checkpoints that ``progress`` does not list. Call it only after saving ``progress``."""
        listed = {_name(step) for step in progress.scheduled}
        for name in self.run.checkpoints():
            if name.startswith(PREFIX) and name not in listed:
                self.run.remove(name)

    def load_best(self) -> Weights:
        """Return the weights with the best validation."""
        return self._load(BEST)

    def to_average(self, progress: Progress) -> list[Load]:
        """Return loaders of the scheduled checkpoints to average."""
        return [partial(self._load, _name(step)) for step in progress.scheduled[-self.averaged :]]

    def _load(self, name: str) -> Weights:
        return self.run.load_tensors(name)[0]


def _name(step: int) -> str:
    return f"{PREFIX}{step:010}"
