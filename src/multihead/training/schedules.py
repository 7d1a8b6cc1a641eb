"""Learning-rate schedules, as pure functions of the step."""

import math

from multihead.settings import FirstStage, OptimisationSettings


def staged_rate(step: int, first: FirstStage | None, settings: OptimisationSettings, d_model: int) -> float:
    """Return the learning rate of update ``step`` for a model that may have a first stage of its own.

    In the first stage the rate rises linearly to the stage's own peak, for at most a tenth of the stage, and
    falls to 0 by half a cosine. Then the recipe's schedule starts from its beginning.
    """
    if first is None:
        return learning_rate(step, settings, d_model)
    if step > first.steps:
        rest = max(1, (settings.horizon or settings.steps) - first.steps)
        return learning_rate(step - first.steps, settings.model_copy(update={"horizon": rest}), d_model)
    own = {
        "schedule": "cosine",
        "learning_rate": first.learning_rate,
        "warmup_steps": min(settings.warmup_steps, first.steps // 10),
        "horizon": first.steps,
    }
    return learning_rate(step, settings.model_copy(update=own), d_model)


def learning_rate(step: int, settings: OptimisationSettings, d_model: int) -> float:
    """Return the learning rate of update ``step`` (the first is 1).

    - noam: rate * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al. 2017, eq. 3)
    - inverse_sqrt: linear warmup to the rate, then rate * sqrt(warmup / step)
    - cosine: linear warmup, then half a cosine down to 0 at the horizon (Loshchilov and Hutter 2017, eq. 5)
    - constant: linear warmup, then constant
    """
    peak, warmup = settings.learning_rate, max(1, settings.warmup_steps)
    if settings.schedule == "noam":
        return peak / math.sqrt(d_model) * min(1 / math.sqrt(step), step / (warmup * math.sqrt(warmup)))
    if step < warmup:
        return peak * step / warmup
    if settings.schedule == "inverse_sqrt":
        return peak * math.sqrt(warmup / step)
    if settings.schedule == "cosine":
        horizon = settings.horizon or settings.steps
        done = min(1.0, (step - warmup) / max(1, horizon - warmup))
        return peak * (1 + math.cos(math.pi * done)) / 2
    return peak
