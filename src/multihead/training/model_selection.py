"""Selection of a run's final weights by validation; they are saved and logged at the end of a training."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from multihead.recipe.settings import OptimisationSettings, ValidationSchedule
from multihead.run import Run
from multihead.training import averaging
from multihead.training.averaging import Weights
from multihead.training.checkpoints import WORST, Load, ScheduledCheckpoints, is_better
from multihead.training.extension import EARLIER
from multihead.training.progress import TrainingProgress

LOG = logging.getLogger(__name__)

Metrics = dict[str, float]


@dataclass(frozen=True, slots=True)
class FinalSelection:
    """Selects the final weights of a run.

    Attributes:
        run: the run folder, locked.
        settings: training settings.
        validation: validation metric.
        checkpoints: the run's scheduled checkpoints.
    """

    run: Run
    settings: OptimisationSettings
    validation: ValidationSchedule
    checkpoints: ScheduledCheckpoints

    def end(self, progress: TrainingProgress) -> dict[str, Any] | None:
        """Return the logged end of a run of as many steps, None if there is none."""
        events = self.run.metrics()
        ends = (e for e in events if e.get("event") == "end" and e["step"] == progress.step)
        return next(ends, None)

    def whole_end(self, progress: TrainingProgress) -> dict[str, Any] | None:
        """Return the logged end if the model that was selected is there and whole; None otherwise."""
        if not (event := self.end(progress)):
            return None
        if fault := self.run.model_fault():
            LOG.warning("%s. The final weights are selected again.", fault)
            return None
        return event

    def select(
        self,
        model: nn.Module,
        average: Weights | None,
        progress: TrainingProgress,
        validate: Callable[[], Metrics],
    ) -> tuple[str, Metrics]:
        """Select among the undamaged checkpoints, save the run's model, and log the end.

        Args:
            model: the trained model; its weights are exchanged meanwhile, and restored.
            average: the moving average of its weights, if there is one.
            progress: of the training, which has ended.
            validate: returns the metrics of the model as it is.

        Returns:
            The name of the weights, and their metrics.
        """
        trained = {name: weight.clone() for name, weight in model.state_dict().items()}
        checkpoints = self.checkpoints.whole(
            progress, trained, dict(model.named_buffers(remove_duplicate=False))
        )
        settings = self.settings
        if progress.diverged:  # the weights that the settings name may be useless
            settings = settings.model_copy(update={"final": "auto"})
        candidates = candidate_weights(
            settings,
            last=lambda: trained,
            best=checkpoints.best,
            scheduled=checkpoints.scheduled,
            updated_since=progress.step % self.validation.every != 0 or bool(checkpoints.damaged),
            ema=average,
            earlier=checkpoints.earlier,
        )
        results: dict[str, Metrics] = {}
        try:
            for name, weights in candidates.items():
                model.load_state_dict(weights())
                results[name] = validate()
        finally:
            model.load_state_dict(trained)
        metric, step = self.validation.metric, progress.step
        best = select_best(results, metric)
        self.run.save_model(candidates[best](), {"step": step, "weights": best})
        values = {name: metrics[metric] for name, metrics in results.items()}
        event = {"event": "end", "step": step, "weights": best, "candidates": values}
        if checkpoints.damaged:
            event["damaged"] = checkpoints.damaged
        if progress.diverged:
            event["diverged"] = True
        if not self.end(progress):
            self.run.log({**event, "metrics": results[best]})
        self.run.forget_finish()
        self.run.remove(EARLIER)
        return best, results[best]


def select_best(results: Mapping[str, Mapping[str, float]], metric: str) -> str:
    """Return the name of the best result by the metric.

    Ties go to the lower loss where nothing is written right yet, else to the first. So the average must come
    before the checkpoint that was selected for its score: the highest of many scores is partly luck.
    """
    names = list(results)
    best = names[0]
    for name in names[1:]:
        value, highest = results[name][metric], results[best][metric]
        tied = value == highest == WORST.get(metric) and "loss" in results[name]
        if is_better(value, highest, metric) or (
            tied and is_better(results[name]["loss"], results[best]["loss"], "loss")
        ):
            best = name
    return best


def candidate_weights(
    settings: OptimisationSettings,
    *,
    last: Load,
    best: Load | None,
    scheduled: Sequence[Load],
    updated_since: bool,
    ema: Weights | None,
    earlier: Load | None = None,
) -> dict[str, Load]:
    """Return loaders of the weights that may become the final model.

    With ``training.final = "auto"`` these are all available weights; otherwise the requested kind, or
    the last weights where the run was too short to have it.

    Args:
        settings: training settings.
        last: the current weights.
        best: the weights with the best validation, if any.
        scheduled: the last scheduled checkpoints, to be averaged.
        updated_since: True if updates were made after the last scheduled checkpoint.
        ema: the moving average of the weights, if any.
        earlier: the weights that were selected before the training was made longer, if any.
    """
    candidates: dict[str, Load] = {}
    if len(scheduled) > 1:
        candidates["average"] = lambda: averaging.mean(load() for load in scheduled)
    if ema is not None:
        candidates["ema"] = lambda: ema
    if settings.final != "auto" or updated_since or not (candidates or best):
        candidates["last"] = last
    if best is not None:
        candidates["best"] = best
    if earlier is not None:
        candidates["earlier"] = earlier
    if settings.final == "auto":
        return candidates
    name = settings.final if settings.final in candidates else "last"
    return {name: candidates[name]}
