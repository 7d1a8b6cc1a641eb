"""Beam search over tensors of fixed size: nothing is asked of the device while it runs (GPU).

The same search as ``beam``, which is the oracle in the tests, for a batch that begins with one symbol and
knows no constraint but banned tokens. Every step is the same sequence of kernels over the same tensors, so
that it can be recorded and launched as one. A sentence that is done stays in its place; who came of whom is
written down and read once at the end.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor

from multihead.gpu import kernel
from multihead.search.branching import IMPOSSIBLE
from multihead.search.distribution import largest
from multihead.search.hypotheses import Hypothesis, best, length_penalty
from multihead.search.request import BeamRequest


class BeamState:
    """All that a search knows of B sentences with K hypotheses each, and of their N best ended ones.

    Args:
        sentences: B.
        beam_size: K.
        n_best: N.
        steps: T, the most steps.
        device: where the tensors are.

    Attributes:
        step: number of the step to come, ().
        last: the token that each hypothesis wrote last, (B, K).
        parents: whom it came of in the last step, (B, K).
        over: whether every sentence is done, ().
        finite: whether all scores were numbers, ().
    """

    def __init__(self, sentences: int, beam_size: int, n_best: int, steps: int, device: torch.device) -> None:
        B, K, N, T = sentences, beam_size, n_best, steps
        whole = partial(torch.zeros, dtype=torch.long, device=device)
        self.step = whole(())
        self.last, self.parents = whole(B, K), whole(B, K)
        self.over = torch.zeros((), dtype=torch.bool, device=device)
        self.finite = torch.ones((), dtype=torch.bool, device=device)
        self._sums_BK = torch.zeros(B, K, device=device)
        self._longest_B = whole(B)
        self._count_B = whole(B)
        self._tokens_TBK, self._parents_TBK = whole(T, B, K), whole(T, B, K)
        self._scores_BN, self._totals_BN = torch.zeros(B, N, device=device), torch.zeros(B, N, device=device)
        self._steps_BN, self._rows_BN = whole(B, N), whole(B, N)
        self._cut_BN = torch.zeros(B, N, dtype=torch.bool, device=device)

    def begin(self, first: int, longest_B: Tensor) -> None:
        """Clear it for new sentences: one hypothesis each, of the begin symbol alone.

        Args:
            first: the begin symbol.
            longest_B: the most tokens that each output may have, below T; -1: a place that holds no sentence.
        """
        self.step.zero_()
        self.last.fill_(first)
        self.parents.copy_(torch.arange(self.parents.shape[1], device=self.parents.device))
        self.over.zero_()
        self.finite.fill_(True)
        self._sums_BK.fill_(-torch.inf)
        self._sums_BK[:, 0].masked_fill_(longest_B >= 0, 0.0)
        self._longest_B.copy_(longest_B)
        self._count_B.zero_()
        self._scores_BN.fill_(-torch.inf)

    def advance(self, logits_RV: Tensor, request: BeamRequest) -> None:
        """Take a step: each sentence's K best continuations, given the scores of the next token, (B K, V)."""
        K = self._sums_BK.shape[1]
        every = self._extensions(logits_RV, request)
        sums_BK, places_BK = every.sums.topk(K, dim=1)
        tokens_BK, cut_BK = every.tokens.gather(1, places_BK), every.cut.gather(1, places_BK)
        parents_BK = places_BK // (every.sums.shape[1] // K)
        ends_BK = (tokens_BK == request.eos_id) & (sums_BK > -torch.inf)
        self._set_aside(ends_BK, sums_BK, parents_BK, cut_BK, request.alpha)
        self._count_B += ends_BK.sum(1)
        sums_BK = sums_BK.masked_fill(ends_BK, -torch.inf)
        done_B = self._attainable(sums_BK, request.alpha) <= self._scores_BN[:, -1]
        if request.stop == "first":
            done_B |= self._count_B >= K
        self._sums_BK.copy_(sums_BK.masked_fill(done_B[:, None], -torch.inf))
        self.last.copy_(tokens_BK)
        self.parents.copy_(parents_BK)
        at = self.step[None]
        self._tokens_TBK.index_copy_(0, at, tokens_BK[None])
        self._parents_TBK.index_copy_(0, at, parents_BK[None])
        self.over.copy_((self._sums_BK == -torch.inf).all())
        self.step += 1

    def hypotheses(self, sentences: int, n_best: int) -> list[list[Hypothesis]]:
        """The n best of each of the first so many sentences, best first."""
        scores, totals, steps, rows, cut = (
            tensor[:sentences].flatten().cpu().numpy()
            for tensor in (self._scores_BN, self._totals_BN, self._steps_BN, self._rows_BN, self._cut_BN)
        )
        last = int(steps[scores > -np.inf].max(initial=0))
        tokens_TBK = self._tokens_TBK[:last].cpu().numpy()
        parents_TBK = self._parents_TBK[:last].cpu().numpy()
        N = self._scores_BN.shape[1]
        of = np.arange(sentences).repeat(N)
        written = np.zeros((len(of), last), dtype=np.int64)
        for step in reversed(range(last)):
            lived = steps > step
            written[:, step] = np.where(lived, tokens_TBK[step, of, rows], 0)
            rows = np.where(lived, parents_TBK[step, of, rows], rows)
        found: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        for place in np.flatnonzero(scores > -np.inf):
            tokens = tuple(written[place, : steps[place]].tolist())
            one = Hypothesis(tokens, float(totals[place]), float(scores[place]), not bool(cut[place]))
            found[of[place]].append(one)
        return [best(those, n_best) for those in found]

    # --- the parts of a step ----------------------------------------------------------------------------

    def _extensions(self, logits_RV: Tensor, request: BeamRequest) -> "_Extensions":
        """All that may come of every sentence's hypotheses; see ``branching.continuations``."""
        B, K = self._sums_BK.shape
        normaliser_R, end_R, values_RC, tokens_RC = _best(logits_RV, request, K)
        normaliser_BK, end_BK = normaliser_R.view(B, K), end_R.view(B, K)
        self.finite.logical_and_(normaliser_BK.isfinite().all())
        values, tokens = values_RC.view(B, K, -1), tokens_RC.view(B, K, -1)
        best_BK = values[..., 0]
        must_BK = (self.step >= self._longest_B)[:, None] | (best_BK == -torch.inf)
        cut_BK = must_BK & ((end_BK < best_BK) | (best_BK == -torch.inf))
        forced_BK = end_BK.clamp(min=IMPOSSIBLE).where(must_BK, best_BK)
        values = values.masked_fill(must_BK[..., None], -torch.inf)
        values[..., 0] = forced_BK
        tokens[..., 0].masked_fill_(must_BK, request.eos_id)
        sums = self._sums_BK[..., None] + (values - normaliser_BK[..., None])
        return _Extensions(sums.flatten(1), tokens.flatten(1), cut_BK[..., None].expand_as(sums).flatten(1))

    def _set_aside(
        self, ends_BK: Tensor, sums_BK: Tensor, parents_BK: Tensor, cut_BK: Tensor, alpha: float
    ) -> None:
        """Keep the N best of those that ended before and now."""
        scores_BK = (sums_BK / length_penalty(self.step + 1, alpha)).where(ends_BK, -torch.inf)
        rivals = torch.cat([self._scores_BN, scores_BK], dim=1)
        scores_BN, places_BN = rivals.topk(self._scores_BN.shape[1], dim=1)
        self._scores_BN.copy_(scores_BN)
        for kept, new in (
            (self._totals_BN, sums_BK),
            (self._steps_BN, self.step.expand_as(parents_BK)),
            (self._rows_BN, parents_BK),
            (self._cut_BN, cut_BK),
        ):
            kept.copy_(torch.cat([kept, new], dim=1).gather(1, places_BN))

    def _attainable(self, sums_BK: Tensor, alpha: float) -> Tensor:
        """The best score that a live hypothesis can still end with, (B,); see ``beam``."""
        shortest, longest_B = (length_penalty(n, alpha) for n in (self.step + 2, self._longest_B + 1))
        return sums_BK.amax(1) / torch.maximum(shortest, longest_B)


def _best(logits_RV: Tensor, request: BeamRequest, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of each row: log sum exp, the end's score, the k largest that are not banned, and whose they are."""
    triton = kernel("engines.cuda.triton_best", logits_RV)
    if triton is not None and triton.suits(logits_RV, k):
        banned_V = _banned(request.banned, logits_RV.shape[1], logits_RV.device)
        found: tuple[Tensor, Tensor, Tensor, Tensor] = triton.best(logits_RV, banned_V, request.eos_id, k)
        return found
    logits_RV = logits_RV.float()
    normaliser_R, end_R = logits_RV.logsumexp(1), logits_RV[:, request.eos_id].clone()
    for token in request.banned:
        logits_RV[:, token] = -torch.inf
    return normaliser_R, end_R, *largest(logits_RV, k)


@cache
def _banned(tokens: tuple[int, ...], vocabulary: int, device: torch.device) -> Tensor:
    """True for these tokens, (V,)."""
    return torch.tensor([token in tokens for token in range(vocabulary)], device=device)


@dataclass(frozen=True, slots=True)
class _Extensions:
    """Live hypotheses with one more symbol, X for each sentence; all (B, X). See ``beam``."""

    sums: Tensor
    tokens: Tensor
    cut: Tensor
