"""Greedy search: the most probable token at every step."""

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

from multihead.batch import Source
from multihead.search.branching import Continuations
from multihead.search.constraints import Constraint
from multihead.search.hypotheses import Hypothesis
from multihead.search.observer import Observer
from multihead.search.request import DEFAULT, LengthLimits, search_as_a_whole
from multihead.search.rollout import roll_out
from multihead.search.stepper import State, Stepper

S = TypeVar("S", bound=State)


@torch.inference_mode()
def greedy(
    stepper: Stepper[S],
    source: Source,
    prefixes: Sequence[Sequence[int]],
    *,
    eos_id: int,
    alpha: float = 0.6,
    limits: LengthLimits = DEFAULT,
    constraints: Sequence[Constraint] = (),
    observer: Observer | None = None,
) -> list[list[Hypothesis]]:
    """Return one hypothesis for each sentence, in a list of its own; arguments as of ``beam``.

    ``alpha`` does not affect the choice; it makes the scores comparable with a beam search's.
    """
    hypotheses = search_as_a_whole(
        stepper,
        source,
        prefixes,
        eos_id=eos_id,
        beam_size=1,
        alpha=alpha,
        n_best=1,
        stop="first",
        limits=limits,
        constraints=constraints,
        observer=observer,
    )
    if hypotheses is not None:
        return hypotheses

    def most_probable(following: Continuations, sentences_B: Tensor, step: int) -> Tensor:
        return following.tokens[:, 0]

    finished = roll_out(
        stepper,
        source,
        prefixes,
        most_probable,
        eos_id=eos_id,
        copies=1,
        alpha=alpha,
        limits=limits,
        constraints=constraints,
        observer=observer,
    )
    return finished.hypotheses(1)
