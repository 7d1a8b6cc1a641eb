"""The end of a training: its final weights are selected by validation, saved and logged."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from multihead.recipe.settings import OptimisationSettings, ValidationSchedule
from multihead.run import Run
from multihead.training.checkpoints import ScheduledCheckpoints
from multihead.training.extension import EARLIER
from multihead.training.model_selection import Weights, candidate_weights, select_best
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
        kept = self.checkpoints.whole(progress, trained, dict(model.named_buffers(remove_duplicate=False)))
        candidates = candidate_weights(
            self.settings,
            last=lambda: trained,
            best=kept.best,
            scheduled=kept.scheduled,
            updated_since=progress.step % self.validation.every != 0 or bool(kept.damaged),
            ema=average,
            earlier=kept.earlier,
        )
        results: dict[str, Metrics] = {}
        try:
            for name, weights in candidates.items():
                model.load_state_dict(weights())
                results[name] = validate()
        finally:
            model.load_state_dict(trained)
        metric, step = self.validation.metric, progress.step
        chosen = select_best(results, metric)
        self.run.save_model(candidates[chosen](), {"step": step, "weights": chosen})
        values = {name: metrics[metric] for name, metrics in results.items()}
        event = {"event": "end", "step": step, "weights": chosen, "candidates": values}
        if kept.damaged:
            event["damaged"] = kept.damaged
        if not self.end(progress):
            self.run.log({**event, "metrics": results[chosen]})
        self.run.forget_finish()
        self.run.remove(EARLIER)
        return chosen, results[chosen]
