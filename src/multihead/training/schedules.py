"""How the learning rate moves: pure functions of the step."""

import math

from multihead.settings import Learning


def learning_rate(step: int, settings: Learning, d_model: int) -> float:
    """Return the rate of update ``step`` (the first is 1).

    - noam: rate * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al. 2017, eq. 3)
    - inverse_sqrt: linear rise to the rate, then rate * sqrt(warmup / step)
    - cosine: linear rise, then half a cosine down to 0 at the horizon (Loshchilov and Hutter 2017, eq. 5)
    - constant: linear rise, then flat
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
