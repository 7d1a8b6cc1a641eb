"""Scheduled checkpoints: the weights to be averaged, the best weights by a metric, and early stopping.

Only validations at multiples of ``validation.every`` count, never a state saved in between or at the end of a
run. So a run that is interrupted, or extended, arrives at the same weights.
"""

import logging
import math
from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple

from multihead.errors import UserError
from multihead.recipe.settings import ValidationSchedule
from multihead.run import Run
from multihead.run.checkpoints import BEST, SCHEDULED, checkpoint_name
from multihead.run.model_file import check_names
from multihead.run.sanity_checks import check_numbers
from multihead.training.averaging import Weights
from multihead.training.extension import EARLIER
from multihead.training.progress import PATIENCE, TrainingProgress

LOG = logging.getLogger(__name__)

Load = Callable[[], Weights]
LOWER_IS_BETTER = {"loss", "wer", "cer"}
WORST = {"bleu": 0.0, "chrf": 0.0, "exact": 0.0, "wer": 100.0, "cer": 100.0}
"""Values of a model that has not learned to write yet; a lower loss is an improvement all the same."""


def is_better(value: float, than: float, metric: str) -> bool:
    """Return True if a metric's value is better than another. Any number is better than NaN."""
    if math.isnan(than):
        return not math.isnan(value)
    return value < than if metric in LOWER_IS_BETTER else value > than


class CheckpointSelection(NamedTuple):
    """The checkpoints from which the final weights are selected.

    Attributes:
        best: loader of the weights with the best validation; None if they are missing or damaged.
        scheduled: loaders of the last scheduled weights.
        earlier: loader of the weights selected before the training was made longer; None if there are none.
        damaged: names of the checkpoints that are missing, damaged or do not fit.
    """

    best: Load | None
    scheduled: list[Load]
    earlier: Load | None
    damaged: list[str]


class ScheduledCheckpoints:
    """The scheduled checkpoints of a run.

    Args:
        run: the run folder.
        validation: validation metric and patience.
        averaged: number of checkpoints to average at the end.
    """

    def __init__(self, run: Run, validation: ValidationSchedule, averaged: int) -> None:
        self.run, self.validation, self.averaged = run, validation, averaged

    def add(self, progress: TrainingProgress, weights: Weights, metrics: dict[str, float]) -> bool:
        """Save a scheduled checkpoint, and update best value, patience and early stopping in ``progress``.

        Returns:
            True if it is the best so far.
        """
        metric, step, loss = self.validation.metric, progress.step, metrics.get("loss")
        value = metrics[metric]
        better = progress.best is None or is_better(value, progress.best, metric)
        if value == progress.best and value == WORST.get(metric) and loss is not None:
            # An early model may have no output right, and still be learning.
            better = progress.best_loss is None or is_better(loss, progress.best_loss, "loss")
        if better:
            progress.best, progress.best_step, progress.best_loss = value, step, loss
            self.run.save_tensors(BEST, weights, {"step": step, "metrics": metrics})
        if self._is_improvement(progress, loss, better=better):
            progress.without_gain, progress.gain_step = 0, step
        else:
            progress.without_gain += 1
        patience = self.validation.patience
        waited = step - progress.gain_step >= self.validation.patience_share * step
        if patience and progress.without_gain >= patience and waited:
            progress.stopped = (
                f"{PATIENCE}: {self.validation.metric} has not improved on {progress.best:.4g} "
                f"(step {progress.best_step}) in {patience} validations"
            )
        self.run.save_tensors(checkpoint_name(SCHEDULED, step), weights, {"step": step})
        # One more than is averaged, in case the newest state turns out to be unreadable.
        progress.scheduled = [*progress.scheduled, step][-self.averaged - 1 :]
        return better

    def _is_improvement(self, progress: TrainingProgress, loss: float | None, *, better: bool) -> bool:
        """Return whether a validation is an improvement for patience; record the lowest loss."""
        lower = loss is not None and (
            progress.lowest_loss is None or is_better(loss, progress.lowest_loss, "loss")
        )
        if lower:
            progress.lowest_loss = loss
        return better or (lower and self.validation.patience_loss)

    def clear(self, progress: TrainingProgress) -> None:
        """Remove the checkpoints that ``progress`` does not list. Call it only after saving ``progress``."""
        listed = {checkpoint_name(SCHEDULED, step) for step in progress.scheduled}
        for name in self.run.checkpoints():
            if name.startswith(SCHEDULED) and name not in listed:
                self.run.remove(name)

    def whole(
        self, progress: TrainingProgress, like: Weights, buffers: Collection[str] = ()
    ) -> CheckpointSelection:
        """Return loaders of the best and the last scheduled weights that are intact.

        A damaged checkpoint is left out with a logged warning, so that training can still finish.

        Args:
            progress: lists the checkpoints.
            like: weights of the same names and shapes.
            buffers: names of the tensors that are not parameters.
        """
        scheduled = [checkpoint_name(SCHEDULED, step) for step in progress.scheduled[-self.averaged :]]
        names = [*([BEST] if progress.best is not None else []), *scheduled]
        names += [EARLIER] if EARLIER in self.run.checkpoints() else []
        damaged = [name for name in names if not self._is_whole(name, like, progress, buffers)]
        loads = {name: partial(self._load, name) for name in names if name not in damaged}
        loaders: list[Load] = [loads[name] for name in scheduled if name in loads]
        return CheckpointSelection(loads.get(BEST), loaders, loads.get(EARLIER), damaged)

    def _is_whole(
        self, name: str, like: Weights, progress: TrainingProgress, buffers: Collection[str]
    ) -> bool:
        place = self.run.path_of(name)
        try:
            weights, meta = self.run.load_tensors(name)
            if name == BEST and meta.get("step") != progress.best_step:
                fact = (
                    f"made after step {meta.get('step')}, but the best validation was at {progress.best_step}"
                )
                raise UserError(fact, place=str(place))
            check_names(like, weights, place)
            check_numbers(weights, place, buffers=buffers)
        except UserError as error:
            LOG.warning("%s: %s. The final weights are chosen without it.", error.place, error.fact)
            return False
        return True

    def _load(self, name: str) -> Weights:
        return self.run.load_tensors(name)[0]
