"""Learning-rate schedules, as pure functions of the step."""

import math
from typing import NamedTuple

from multihead.recipe.settings import FirstStage, OptimisationSettings


class Cooldown(NamedTuple):
    """A cool-down: the updates after ``first``, up to ``last``."""

    first: int
    last: int


def cooldown_after(step: int, settings: OptimisationSettings) -> Cooldown:
    """Return the cool-down that starts after update ``step``, a fixed part of the updates so far."""
    return Cooldown(step, step + max(1, round(settings.cooldown * step)))


def latest_cooldown(settings: OptimisationSettings) -> Cooldown:
    """Return the cool-down that ends with ``training.steps``."""
    first = min(round(settings.steps / (1 + settings.cooldown)), settings.steps - 1)
    return Cooldown(first, settings.steps)


def staged_rate(
    step: int,
    first: FirstStage | None,
    settings: OptimisationSettings,
    d_model: int,
    cooldown: Cooldown | None = None,
) -> float:
    """Return the learning rate of update ``step`` for a model that may have a first stage of its own.

    In the first stage the rate rises linearly to the stage's own peak, for at most a tenth of the stage, and
    falls to 0 by half a cosine. Then the recipe's schedule starts from its beginning.
    """
    if first is None:
        return learning_rate(step, settings, d_model, cooldown)
    if step > first.steps:
        rest = max(1, (settings.horizon or settings.steps) - first.steps)
        shifted = cooldown and Cooldown(cooldown.first - first.steps, cooldown.last - first.steps)
        own_horizon = settings.model_copy(update={"horizon": rest})
        return learning_rate(step - first.steps, own_horizon, d_model, shifted)
    own = {
        "schedule": "cosine",
        "learning_rate": first.learning_rate,
        "warmup_steps": min(settings.warmup_steps, first.steps // 10),
        "horizon": first.steps,
    }
    return learning_rate(step, settings.model_copy(update=own), d_model)


def learning_rate(
    step: int, settings: OptimisationSettings, d_model: int, cooldown: Cooldown | None = None
) -> float:
    """Return the learning rate of update ``step`` (the first is 1).

    - noam: rate * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al. 2017, eq. 3)
    - inverse_sqrt: linear warmup to the rate, then rate * sqrt(warmup / step)
    - cosine: linear warmup, then half a cosine down to 0 at the horizon (Loshchilov and Hutter 2017, eq. 5)
    - constant: linear warmup, then constant
    - wsd: the same, until a cool-down, in which the rate falls with 1 - sqrt(fraction done) (Hägele et al.
      2024, eq. 1)
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
    if settings.schedule == "wsd" and cooldown and step > cooldown.first:
        # One more than the length, so that the last update changes something.
        done = min(1.0, (step - cooldown.first) / (cooldown.last - cooldown.first + 1))
        return peak * (1 - math.sqrt(done))
    return peak
