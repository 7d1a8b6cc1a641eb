"""Which weights a run ends with."""

import math
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from multihead.settings import OptimisationSettings
from multihead.training import averaging

Weights = Mapping[str, Tensor]
Load = Callable[[], Weights]
LOWER_IS_BETTER = {"loss"}


def is_better(value: float, than: float, metric: str) -> bool:
    """Tell whether a value of the metric is better than another; any number is better than NaN."""
    if math.isnan(than):
        return not math.isnan(value)
    return value < than if metric in LOWER_IS_BETTER else value > than


def best_of(seen: Mapping[str, Mapping[str, float]], metric: str) -> str:
    """Return the name with the best value of the metric; of equals the lowest loss, then the first."""
    names = list(seen)
    best = names[0]
    for name in names[1:]:
        value, highest = seen[name][metric], seen[best][metric]
        equal = value == highest and "loss" in seen[name]
        if is_better(value, highest, metric) or (
            equal and is_better(seen[name]["loss"], seen[best]["loss"], "loss")
        ):
            best = name
    return best


def candidates(
    settings: OptimisationSettings,
    *,
    last: Load,
    best: Load | None,
    scheduled: Sequence[Load],
    went_on: bool,
    ema: Weights | None,
) -> dict[str, Load]:
    """Return the weights that may become the model, each to be loaded when it is looked at.

    ``went_on`` says whether updates were made after the last scheduled checkpoint. With ``training.final`` =
    "auto" everything there is; otherwise what was asked for, or the last weights where a run was too short to
    have it.
    """
    offered: dict[str, Load] = {}
    if len(scheduled) > 1:
        offered["average"] = lambda: averaging.mean(load() for load in scheduled)
    if best is not None:
        offered["best"] = best
    if ema is not None:
        offered["ema"] = lambda: ema
    if settings.final != "auto" or went_on or not offered:
        offered["last"] = last
    if settings.final == "auto":
        return offered
    wanted = settings.final if settings.final in offered else "last"
    return {wanted: offered[wanted]}
