"""Beam search with length normalisation (Wu et al. 2016, sec. 7; Vaswani et al. 2017, sec. 6.1)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import torch
from torch import Tensor

from multihead.batch import Source
from multihead.search.branching import Continuations, continuations
from multihead.search.constraints import Constraint, at_least
from multihead.search.hypotheses import FinishedHypotheses, Hypothesis, Live, length_penalty, to_drop
from multihead.search.observer import Branches, Fate, Observer
from multihead.search.plain import check_n_best
from multihead.search.request import DEFAULT, LengthLimits, check_wanted, search_as_a_whole
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
    stop: Literal["exact", "first"] = "exact",
    limits: LengthLimits = DEFAULT,
    constraints: Sequence[Constraint] = (),
    observer: Observer | None = None,
) -> list[list[Hypothesis]]:
    """Return the ``n_best`` best hypotheses found for each sentence, best first.

    A step keeps the ``beam_size`` most probable one-symbol extensions of the live hypotheses. Those that end
    are finished, the others stay alive. The finished hypotheses with the best ``log P / lp`` are returned.
    ``beam_size`` 1 is greedy search.

    Args:
        stepper: the model.
        source: B sentences.
        prefixes: B sequences, each the begin symbol and a forced prefix, which may be empty.
        eos_id: the end symbol.
        beam_size: k, hypotheses alive at a time.
        alpha: exponent of the length penalty; 0: plain log-probabilities are compared.
        n_best: hypotheses to return, from 1 to ``beam_size``. Fewer come back if there are no more.
        stop: "exact": a sentence is finished once no live hypothesis can enter its n best; "first": also once
            ``beam_size`` of its hypotheses have ended (a heuristic: a later one could be better).
        limits: length limits of the outputs.
        constraints: name the forbidden continuations.
        observer: called with the branches of every step.

    Raises:
        UserError: ``n_best`` exceeds ``beam_size``, or the model's scores are not finite.
        ValueError: ``n_best`` is below 1.
    """
    if n_best < 1:
        raise ValueError(f"n_best is {n_best}")
    check_n_best(n_best, beam_size)
    if not prefixes:
        return []
    hypotheses = search_as_a_whole(
        stepper,
        source,
        prefixes,
        eos_id=eos_id,
        beam_size=beam_size,
        alpha=alpha,
        n_best=n_best,
        stop=stop,
        limits=limits,
        constraints=constraints,
        observer=observer,
    )
    if hypotheses is not None:
        return hypotheses
    if limits.min_length:
        constraints = (*constraints, at_least(limits.min_length, eos_id))
    live = Live.begin(prefixes, limits.longest(source.lengths_B))
    ended = _Ended(live, n_best, alpha)
    state = stepper.start(source, prefixes)
    step = 0
    while True:
        check_wanted()
        logits_RV, state = stepper.step(live.last, state)
        # No more than beam_size extensions of one row can be among the beam_size best of its sentence.
        every = _extensions(live, continuations(live, logits_RV, constraints, eos_id, step, beam_size))
        places_BK = every.sums.topk(min(beam_size, every.sums.shape[1]), dim=1).indices
        best = every.at(places_BK)
        ends_BK = (best.tokens == eos_id) & (best.sums > -torch.inf)
        if observer is not None:
            observer(_branches(step, live, every, places_BK, ends_BK))
        # No sentence is finished before a hypothesis ends.
        if ended.any or bool(ends_BK.any()):
            ended.add(live, best, ends_BK)
            sums_BK = best.sums.masked_fill(ends_BK, -torch.inf)
            done_B = (_attainable(live, sums_BK, alpha) <= ended.worst) | (sums_BK.amax(1) == -torch.inf)
            if stop == "first":
                done_B |= ended.count_B >= beam_size
            # A finished sentence stays finished: its results must not depend on when the batch drops it.
            best = replace(best, sums=sums_BK.masked_fill(done_B[:, None], -torch.inf))
            going = to_drop(live, done_B, step)
            if going is not None:
                if not len(going):
                    return ended.finished.hypotheses(n_best)
                state, live, best = state.keep(going), live.keep(going), best.keep(going)
                ended.keep(going)
        rows = live.rows(best.parents)
        state, live = state.select(rows), live.extend(rows, best.tokens, best.sums)
        step += 1


@dataclass(frozen=True, slots=True)
class _Extensions:
    """One-symbol extensions of the live hypotheses, X for each sentence; all (B, X).

    Attributes:
        sums: log-probabilities; -infinity marks an unused entry.
        parents: the row, within its sentence, that each extends.
        tokens: the symbol.
        cut: True for an end symbol that was forced although the model preferred another token.
    """

    sums: Tensor
    parents: Tensor
    tokens: Tensor
    cut: Tensor

    def at(self, places: Tensor) -> "_Extensions":
        """Return the extensions at these indices, (B, X')."""
        values = (self.sums, self.parents, self.tokens, self.cut)
        return _Extensions(*(value.gather(1, places) for value in values))

    def keep(self, sentences: Tensor) -> "_Extensions":
        """Keep the extensions of these sentences."""
        values = (self.sums, self.parents, self.tokens, self.cut)
        return _Extensions(*(value[sentences] for value in values))


def _extensions(live: Live, following: Continuations) -> _Extensions:
    sums_RC = live.sums.flatten()[:, None] + (following.values - following.normaliser[:, None])
    sentences, rows = live.sums.shape
    parents_KC = torch.arange(rows, device=sums_RC.device)[:, None].expand(rows, sums_RC.shape[1])
    return _Extensions(
        sums=sums_RC.view(sentences, -1),
        parents=parents_KC.flatten().expand(sentences, -1),
        tokens=following.tokens.view(sentences, -1),
        cut=following.cut[:, None].expand_as(sums_RC).reshape(sentences, -1),
    )


class _Ended:
    """The hypotheses that were among their sentence's n best when they ended."""

    def __init__(self, live: Live, n_best: int, alpha: float) -> None:
        self.finished = FinishedHypotheses(len(live.sums), alpha)
        self._alpha = alpha
        self._scores_BN = live.sums.new_full((len(live.sums), n_best), -torch.inf)
        self.count_B = torch.zeros_like(live.sentences)
        """Number of hypotheses that have ended, good or bad, (B,)."""
        self.any = False
        """True once a hypothesis has ended."""

    @property
    def worst(self) -> Tensor:
        """The score that a hypothesis must beat to be returned, (B,); -infinity while there are too few."""
        return self._scores_BN[:, -1]

    def add(self, live: Live, best: _Extensions, ends_BK: Tensor) -> None:
        """Store the extensions that end, if they are among the n best so far."""
        self.any = True
        self.count_B = self.count_B + ends_BK.sum(1)
        scores_BK = best.sums / length_penalty(live.written + 1, self._alpha)[:, None]
        better_BK = ends_BK & (scores_BK > self.worst[:, None])
        self.finished.add(live, better_BK, best.parents, best.sums, best.cut)
        rivals_BX = torch.cat([self._scores_BN, scores_BK.where(better_BK, -torch.inf)], dim=1)
        self._scores_BN = rivals_BX.topk(self._scores_BN.shape[1], dim=1).values

    def keep(self, sentences: Tensor) -> None:
        """Keep these sentences."""
        self._scores_BN, self.count_B = self._scores_BN[sentences], self.count_B[sentences]


def _attainable(live: Live, sums_BK: Tensor, alpha: float) -> Tensor:
    """An upper bound of the score that a live hypothesis, one token longer than in ``live``, can reach, (B,).

    A sum of log-probabilities never rises. As it is negative, its score is best under the largest possible
    length penalty. The penalty is monotone in the length, so its largest value is at the shortest ending (one
    more symbol, the end) or at the longest (the limit and the end).
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
