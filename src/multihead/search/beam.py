"""Beam search with length normalisation (Wu et al. 2016, sec. 7; Vaswani et al. 2017, sec. 6.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from multihead.batch import Source
from multihead.errors import UserError
from multihead.search.branching import Continuations, continuations
from multihead.search.constraints import Constraint, at_least
from multihead.search.distribution import largest
from multihead.search.hypothesis import Hypothesis, length_penalty
from multihead.search.limits import DEFAULT, Limits
from multihead.search.live import Harvest, Live, to_drop
from multihead.search.observer import Branches, Fate, Observer
from multihead.search.stepper import State, Stepper

S = TypeVar("S", bound=State)


@torch.inference_mode()
def beam(
    stepper: Stepper[S],
    source: Source,
    prefixes: Sequence[Sequence[int]],
    *,
    eos_id: int,
    beam_size: int = 5,
    alpha: float = 0.6,
    n_best: int = 1,
    limits: Limits = DEFAULT,
    constraints: Sequence[Constraint] = (),
    observer: Observer | None = None,
) -> list[list[Hypothesis]]:
    """Return the ``n_best`` best hypotheses found for each sentence, best first.

    A step takes the ``beam_size`` likeliest of all one-symbol extensions of the live hypotheses. Those
    that end are set aside; the others live on. Of all that were ever set aside, those with the best
    ``log P / lp`` are returned. With ``beam_size`` 1 this is greedy search.

    Args:
        stepper: the model.
        source: B sentences.
        prefixes: B sequences, each the begin symbol and what the output is forced to begin with.
        eos_id: the end symbol.
        beam_size: k, hypotheses alive at a time.
        alpha: exponent of the length penalty; 0: plain log-probabilities are compared.
        n_best: hypotheses to return, at most ``beam_size``. Fewer come back if there are no more.
        limits: how long an output may be.
        constraints: what must not come next.
        observer: is shown every step.

    Raises:
        UserError: if ``n_best`` exceeds ``beam_size``, or the model's scores are not finite.
    """
    if n_best > beam_size:
        raise UserError(
            f"n_best {n_best} is larger than the beam, {beam_size}",
            remedy="Raise search.beam_size or lower search.n_best.",
        )
    if not prefixes:
        return []
    if limits.min_length:
        constraints = (*constraints, at_least(limits.min_length, eos_id))
    live = Live.begin(prefixes, limits.longest(source.lengths_B))
    harvest = Harvest(len(prefixes), alpha)
    kept_BN = torch.full((len(prefixes), n_best), -torch.inf, device=source.lengths_B.device)
    state = stepper.start(source, prefixes)
    step = 0
    while True:
        logits_RV, state = stepper.step(live.last, state)
        every = _extensions(live, continuations(live, logits_RV, constraints, eos_id, step), beam_size)
        sums_BK, places_BK = every.sums.topk(min(beam_size, every.sums.shape[1]), dim=1)
        parents_BK, tokens_BK, cut_BK = (
            values_BX.gather(1, places_BK) for values_BX in (every.parents, every.tokens, every.cut)
        )
        ends_BK = (tokens_BK == eos_id) & (sums_BK > -torch.inf)
        if observer is not None:
            observer(_branches(step, live, every, places_BK, ends_BK))

        scores_BK = sums_BK / length_penalty(live.written + 1, alpha)[:, None]
        better_BK = ends_BK & (scores_BK > kept_BN[:, -1:])
        harvest.add(live, better_BK, parents_BK, sums_BK, cut_BK)
        kept_BN = torch.cat([kept_BN, scores_BK.where(better_BK, -torch.inf)], dim=1)
        kept_BN = kept_BN.topk(n_best, dim=1).values

        sums_BK = sums_BK.masked_fill(ends_BK, -torch.inf)
        done_B = _attainable(live, sums_BK, alpha) <= kept_BN[:, -1]
        sums_BK = sums_BK.masked_fill(done_B[:, None], -torch.inf)
        going = to_drop(live, done_B, step)
        if going is not None:
            if not len(going):
                return harvest.hypotheses(n_best)
            state, live, kept_BN = state.keep(going), live.keep(going), kept_BN[going]
            parents_BK, tokens_BK, sums_BK = parents_BK[going], tokens_BK[going], sums_BK[going]
        rows = live.rows(parents_BK)
        state, live = state.select(rows), live.extended(rows, tokens_BK, sums_BK)
        step += 1


@dataclass(frozen=True, slots=True)
class _Extensions:
    """Each row's best extensions, X = K * C for a sentence; all (B, X)."""

    sums: Tensor
    parents: Tensor
    tokens: Tensor
    cut: Tensor


def _extensions(live: Live, following: Continuations, beam_size: int) -> _Extensions:
    # No more than beam_size extensions of one row can be among the beam_size best of its sentence.
    values_RC, tokens_RC = largest(following.logits, beam_size)
    sums_RC = live.sums.flatten()[:, None] + (values_RC - following.normaliser[:, None])
    sentences, rows = live.sums.shape
    parents_KC = torch.arange(rows, device=sums_RC.device)[:, None].expand(rows, sums_RC.shape[1])
    return _Extensions(
        sums=sums_RC.view(sentences, -1),
        parents=parents_KC.flatten().expand(sentences, -1),
        tokens=tokens_RC.view(sentences, -1),
        cut=following.cut[:, None].expand_as(sums_RC).reshape(sentences, -1),
    )


def _attainable(live: Live, sums_BK: Tensor, alpha: float) -> Tensor:
    """The best score that a live hypothesis, one token longer than in ``live``, can still end with, (B,).

    A sum of log-probabilities never rises, so it ends at or below what it is now; as it is negative, its
    quotient is best under the largest penalty it can come to. The penalty is monotone in the length, so
    that is the one at the shortest end (one more symbol, the end) or at the longest (the limit and the end).
    """
    shortest_B = length_penalty(live.written + 2, alpha)
    longest_B = length_penalty(live.longest + 1, alpha)
    return sums_BK.amax(1) / torch.maximum(shortest_B, longest_B)


def _branches(step: int, live: Live, every: _Extensions, places_BK: Tensor, ends_BK: Tensor) -> Branches:
    lives_BK = ~ends_BK & (every.sums.gather(1, places_BK) > -torch.inf)
    ended_BK = torch.where(every.cut.gather(1, places_BK), Fate.CUT, Fate.FINISHED)
    fates_BK = torch.where(ends_BK, ended_BK, lives_BK * Fate.KEPT)
    rows_BK = torch.where(lives_BK, torch.arange(places_BK.shape[1], device=places_BK.device), -1)
    return Branches(
        step=step,
        sentences=live.sentences,
        parents=every.parents,
        tokens=every.tokens,
        log_probabilities=every.sums,
        fates=torch.full_like(every.tokens, Fate.PRUNED).scatter(1, places_BK, fates_BK),
        rows=torch.full_like(every.tokens, -1).scatter(1, places_BK, rows_BK),
    )
