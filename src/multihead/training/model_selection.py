"""Selection of a run's final weights by validation."""

import math
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from multihead.recipe.settings import OptimisationSettings
from multihead.training import averaging

Weights = Mapping[str, Tensor]
Load = Callable[[], Weights]
LOWER_IS_BETTER = {"loss", "wer", "cer"}
WORST = {"bleu": 0.0, "chrf": 0.0, "exact": 0.0, "wer": 100.0, "cer": 100.0}
"""Values of a model that has not learned to write yet; a lower loss is an improvement all the same."""


def is_better(value: float, than: float, metric: str) -> bool:
    """Return True if a metric's value is better than another. Any number is better than NaN."""
    if math.isnan(than):
        return not math.isnan(value)
    return value < than if metric in LOWER_IS_BETTER else value > than


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
