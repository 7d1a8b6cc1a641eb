"""Search without branching: at each step every row gets one token."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from multihead.batch import Source
from multihead.search.branching import Continuations, continuations
from multihead.search.constraints import Constraint, at_least
from multihead.search.hypotheses import FinishedHypotheses, Live, to_drop
from multihead.search.observer import Branches, Fate, Observer
from multihead.search.request import LengthLimits, check_wanted
from multihead.search.stepper import State, Stepper

S = TypeVar("S", bound=State)


class Choose(Protocol):
    """Chooses the next tokens: (continuations, sentences (B,), step) -> allowed tokens (R,)."""

    def __call__(self, following: Continuations, sentences_B: Tensor, step: int) -> Tensor:
        """Choose a token for each row."""
        ...


def roll_out(
    stepper: Stepper[S],
    source: Source,
    prefixes: Sequence[Sequence[int]],
    choose: Choose,
    *,
    eos_id: int,
    copies: int,
    alpha: float,
    limits: LengthLimits,
    constraints: Sequence[Constraint],
    observer: Observer | None,
) -> FinishedHypotheses:
    """Extend ``copies`` rows of each sentence until all have ended or been cut; arguments as of ``beam``."""
    finished = FinishedHypotheses(len(prefixes), alpha)
    if not prefixes:
        return finished
    if limits.min_length:
        constraints = (*constraints, at_least(limits.min_length, eos_id))
    live = Live.begin(prefixes, limits.longest(source.lengths_B))
    state = stepper.start(source, prefixes)
    if copies > 1:
        rows = torch.arange(len(prefixes), device=live.history.device).repeat_interleave(copies)
        live, state = live.repeat_rows(copies), state.select(rows)
    own_K = torch.arange(copies, device=live.sums.device)
    step = 0
    while True:
        check_wanted()
        logits_RV, state = stepper.step(live.last, state)
        following = continuations(live, logits_RV, constraints, eos_id, step, 1)
        tokens_R1 = choose(following, live.sentences, step)[:, None]
        gains_R = following.logits.gather(1, tokens_R1)[:, 0] - following.normaliser
        sums_BK = live.sums + gains_R.view_as(live.sums)
        tokens_BK, cut_BK = tokens_R1.view_as(live.sums), following.cut.view_as(live.sums)
        own_BK = own_K.expand_as(sums_BK)
        ends_BK = (tokens_BK == eos_id) & (sums_BK > -torch.inf)
        if observer is not None:
            observer(_branches(step, live, own_BK, tokens_BK, sums_BK, ends_BK, cut_BK))
        # Most steps end no row. But a finished row must not be stepped past its limit.
        if bool(ends_BK.any()) or live.may_be_at_limit(step):
            finished.add(live, ends_BK, own_BK, sums_BK, cut_BK)
            sums_BK = sums_BK.masked_fill(ends_BK, -torch.inf)
            going = to_drop(live, (sums_BK == -torch.inf).all(1), step)
            if going is not None:
                if not len(going):
                    return finished
                state, live = state.keep(going), live.keep(going)
                tokens_BK, sums_BK = tokens_BK[going], sums_BK[going]
        live = live.extend(None, tokens_BK, sums_BK)
        step += 1


def _branches(
    step: int, live: Live, own_BK: Tensor, tokens_BK: Tensor, sums_BK: Tensor, ends_BK: Tensor, cut_BK: Tensor
) -> Branches:
    lives_BK = ~ends_BK & (sums_BK > -torch.inf)
    ended_BK = torch.where(cut_BK, Fate.CUT, Fate.FINISHED)
    return Branches(
        step=step,
        sentences=live.sentences,
        parents=own_BK,
        tokens=tokens_BK,
        log_probabilities=sums_BK,
        fates=torch.where(ends_BK, ended_BK, lives_BK * Fate.KEPT),
        rows=torch.where(lives_BK, own_BK, -1),
    )
