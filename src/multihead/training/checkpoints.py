"""Scheduled checkpoints: weights kept to be averaged, the best ones, and when to stop.

Only validations at multiples of ``validation.every`` count here, never a state that is saved in between or
at the end of a run, so that a run which is cut off, or grows, comes to the same weights.
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
        run: where they are kept.
        validation: what "best" means, and how long to wait for better.
        averaged: how many are averaged in the end.
    """

    def __init__(self, run: Run, validation: ValidationSchedule, averaged: int) -> None:
        self.run, self.validation, self.averaged = run, validation, averaged

    def take_in(self, progress: Progress, weights: Weights, metrics: dict[str, float]) -> bool:
        """Keep the weights of a scheduled step and write into ``progress`` what follows from their metrics.

        Returns:
            whether they are the best so far.
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
                f"no better {self.validation.metric} than {progress.best:.4g} (step {progress.best_step}) "
                f"in {patience} validations"
            )
        self.run.save_tensors(_name(step), weights, {"step": step})
        # One more than is averaged, for the case that the newest state cannot be read.
        progress.scheduled = [*progress.scheduled, step][-self.averaged - 1 :]
        return better

    def clear(self, progress: Progress) -> None:
        """Remove the weights that ``progress`` does not name; call it when ``progress`` is on the disk."""
        wanted = {_name(step) for step in progress.scheduled}
        for name in self.run.checkpoints():
            if name.startswith(PREFIX) and name not in wanted:
                self.run.remove(name)

    def load_best(self) -> Weights:
        """Return the weights with the best validation."""
        return self._load(BEST)

    def to_average(self, progress: Progress) -> list[Load]:
        """Return the last scheduled weights, each to be loaded when it is its turn."""
        return [partial(self._load, _name(step)) for step in progress.scheduled[-self.averaged :]]

    def _load(self, name: str) -> Weights:
        return self.run.load_tensors(name)[0]


def _name(step: int) -> str:
    return f"{PREFIX}{step:010}"
