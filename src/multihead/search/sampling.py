"""Random samples from a model (temperature; top-k, Fan et al. 2018; nucleus, Holtzman et al. 2020).

A sample is a function of (seed, the sentence's number, the sample's number) and the model's scores. It does
not depend on the other sentences of a batch.
"""

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

from multihead.batch import Source
from multihead.search.branching import Continuations
from multihead.search.constraints import Constraint
from multihead.search.distribution import largest
from multihead.search.hypotheses import Hypothesis
from multihead.search.observer import Observer
from multihead.search.request import DEFAULT, LengthLimits
from multihead.search.rollout import roll_out
from multihead.search.stepper import State, Stepper
from multihead.system import randomness

S = TypeVar("S", bound=State)

SHARPEST, FLATTEST = 1e-30, 1e30
"""Temperatures are clamped to this range, where dividing by them cannot overflow. At the ends, sampling is
greedy, or uniform over the allowed tokens."""


@torch.inference_mode()
def sample(
    stepper: Stepper[S],
    source: Source,
    prefixes: Sequence[Sequence[int]],
    *,
    eos_id: int,
    seed: int,
    numbers: Sequence[int] | None = None,
    samples: int = 1,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    distinct: bool = True,
    alpha: float = 0.6,
    limits: LengthLimits = DEFAULT,
    constraints: Sequence[Constraint] = (),
    observer: Observer | None = None,
) -> list[list[Hypothesis]]:
    """Return random outputs for each sentence, best score first; other arguments as of ``beam``.

    Args:
        seed: the same seed gives the same samples.
        numbers: B numbers that identify the sentences, e.g. their lines in a file; default: 0 to B - 1.
        samples: number of samples for each sentence.
        temperature: divides the model's scores.
        top_k: sample from the k most probable tokens; 0: from all.
        top_p: of these, from the smallest set of most probable tokens whose probabilities reach this sum.
        distinct: drop repeated samples (fewer than ``samples`` may come back). To estimate an expectation,
            keep them.
    """
    numbers = range(len(prefixes)) if numbers is None else numbers
    keys = [[randomness.derive(seed, "sample", n, copy) for copy in range(samples)] for n in numbers]
    keys_BK = torch.tensor(keys, dtype=torch.long, device=source.ids_BS.device)

    def drawn(following: Continuations, sentences_B: Tensor, step: int) -> Tensor:
        uniform_R = uniform(keys_BK[sentences_B].flatten(), step)
        return draw(following.logits, uniform_R, temperature=temperature, top_k=top_k, top_p=top_p)

    finished = roll_out(
        stepper,
        source,
        prefixes,
        drawn,
        eos_id=eos_id,
        copies=samples,
        alpha=alpha,
        limits=limits,
        constraints=constraints,
        observer=observer,
    )
    return finished.hypotheses(samples, distinct=distinct)


def draw(
    logits_RV: Tensor, uniform_R: Tensor, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0
) -> Tensor:
    """Return a token for each row, (R,), by inverse transform sampling.

    Args:
        logits_RV: scores.
        uniform_R: a number in [0, 1) each, see :func:`uniform`.
        temperature: see :func:`sample`.
        top_k: see :func:`sample`.
        top_p: see :func:`sample`.
    """
    divisor = min(max(temperature, SHARPEST), FLATTEST)
    values_RC, columns_RC = _candidates(logits_RV / divisor, top_k, top_p)
    choice_R1 = _inverse(values_RC.softmax(1), uniform_R)[:, None]
    return (choice_R1 if columns_RC is None else columns_RC.gather(1, choice_R1))[:, 0]


def _candidates(logits_RV: Tensor, top_k: int, top_p: float) -> tuple[Tensor, Tensor | None]:
    """The scores to draw from, and their columns (None: all columns as they are)."""
    if not top_k and top_p >= 1:
        return logits_RV, None
    values_RC, columns_RC = largest(logits_RV, top_k or logits_RV.shape[1])
    probabilities_RC = values_RC.softmax(1)
    before_RC = probabilities_RC.cumsum(1) - probabilities_RC
    return values_RC.masked_fill(before_RC >= top_p, -torch.inf), columns_RC


def _inverse(probabilities_RC: Tensor, uniform_R: Tensor) -> Tensor:
    """The first index whose cumulative probability exceeds ``uniform``; never one of probability 0."""
    cumulative_RC = probabilities_RC.cumsum(1)
    total_R = cumulative_RC[:, -1]
    below_total_R = total_R.nextafter(torch.zeros_like(total_R))
    threshold_R = torch.minimum(uniform_R * total_R, below_total_R)
    return torch.searchsorted(cumulative_RC, threshold_R[:, None], right=True)[:, 0]


def uniform(keys_R: Tensor, step: int) -> Tensor:
    """Numbers in [0, 1), one for each key: SplitMix64 (Steele et al. 2014, fig. 17) at index ``step``.

    Integers only, so they are the same on every device.
    """
    z = keys_R + _as_signed((step + 1) * 0x9E3779B97F4A7C15)
    z = (z ^ _shift(z, 30)) * _as_signed(0xBF58476D1CE4E5B9)
    z = (z ^ _shift(z, 27)) * _as_signed(0x94D049BB133111EB)
    bits_R = _shift(z ^ _shift(z, 31), 40)
    return bits_R / float(2**24)


def _as_signed(number: int) -> int:
    """The number modulo 2^64 as a signed 64-bit integer."""
    return (number + 2**63) % 2**64 - 2**63


def _shift(z: Tensor, places: int) -> Tensor:
    """Logical right shift."""
    return torch.bitwise_and(z >> places, 2 ** (64 - places) - 1)
