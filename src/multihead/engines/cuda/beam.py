"""Beam search over fixed-size tensors, without synchronisation between steps (GPU).

The same search as ``search.beam`` (the oracle in the tests), for a batch with one begin symbol and no
constraints except banned tokens. Every step is the same sequence of kernels over the same tensors, so it can
be captured as a CUDA graph. A finished sentence keeps its rows. Back-pointers are stored, and read once at
the end.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor

from multihead.search.branching import IMPOSSIBLE
from multihead.search.distribution import largest
from multihead.search.hypotheses import Hypothesis, best, length_penalty
from multihead.search.request import BeamRequest
from multihead.system.gpu import kernel


class BeamState:
    """The state of a beam search: B sentences with K live hypotheses each, and their N best finished ones.

    Args:
        sentences: B.
        beam_size: K.
        n_best: N.
        steps: T, the maximum number of steps.
        device: the tensors' device.

    Attributes:
        step: number of the next step, ().
        last: the last token of each hypothesis, (B, K).
        parents: the parent of each hypothesis in the last step, (B, K).
        over: True if every sentence is finished, ().
        finite: True if all scores so far were finite, ().
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
        """Reset the state for new sentences: one hypothesis each, the begin symbol.

        Args:
            first: the begin symbol.
            longest_B: maximum length of each output in tokens, below T; -1: an unused row.
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
        """Take a step: select each sentence's K best extensions, given the next token's logits, (B K, V)."""
        K = self._sums_BK.shape[1]
        every = self._extensions(logits_RV, request)
        sums_BK, places_BK = every.sums.topk(K, dim=1)
        tokens_BK, cut_BK = every.tokens.gather(1, places_BK), every.cut.gather(1, places_BK)
        parents_BK = places_BK // (every.sums.shape[1] // K)
        ends_BK = (tokens_BK == request.eos_id) & (sums_BK > -torch.inf)
        self._finish(ends_BK, sums_BK, parents_BK, cut_BK, request.alpha)
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
        """The n best hypotheses of each of the first ``sentences`` sentences, best first."""
        scores, totals, steps, rows, cut = (
            tensor[:sentences].flatten().cpu().numpy()
            for tensor in (self._scores_BN, self._totals_BN, self._steps_BN, self._rows_BN, self._cut_BN)
        )
        last = int(steps[scores > -np.inf].max(initial=0))
        tokens_TBK = self._tokens_TBK[:last].cpu().numpy()
        parents_TBK = self._parents_TBK[:last].cpu().numpy()
        N = self._scores_BN.shape[1]
        sentence = np.arange(sentences).repeat(N)
        written = np.zeros((len(sentence), last), dtype=np.int64)
        for step in reversed(range(last)):
            live = steps > step
            written[:, step] = np.where(live, tokens_TBK[step, sentence, rows], 0)
            rows = np.where(live, parents_TBK[step, sentence, rows], rows)
        by_sentence: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        for index in np.flatnonzero(scores > -np.inf):
            tokens = tuple(written[index, : steps[index]].tolist())
            hypothesis = Hypothesis(tokens, float(totals[index]), float(scores[index]), not bool(cut[index]))
            by_sentence[sentence[index]].append(hypothesis)
        return [best(hypotheses, n_best) for hypotheses in by_sentence]

    # --- the parts of a step ----------------------------------------------------------------------------

    def _extensions(self, logits_RV: Tensor, request: BeamRequest) -> "_CapturedExtensions":
        """All candidate extensions of every sentence's hypotheses; see ``branching.continuations``."""
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
        return _CapturedExtensions(
            sums.flatten(1), tokens.flatten(1), cut_BK[..., None].expand_as(sums).flatten(1)
        )

    def _finish(
        self, ends_BK: Tensor, sums_BK: Tensor, parents_BK: Tensor, cut_BK: Tensor, alpha: float
    ) -> None:
        """Keep the N best of the finished hypotheses, old and new."""
        scores_BK = (sums_BK / length_penalty(self.step + 1, alpha)).where(ends_BK, -torch.inf)
        rivals = torch.cat([self._scores_BN, scores_BK], dim=1)
        scores_BN, places_BN = rivals.topk(self._scores_BN.shape[1], dim=1)
        self._scores_BN.copy_(scores_BN)
        for old, new in (
            (self._totals_BN, sums_BK),
            (self._steps_BN, self.step.expand_as(parents_BK)),
            (self._rows_BN, parents_BK),
            (self._cut_BN, cut_BK),
        ):
            old.copy_(torch.cat([old, new], dim=1).gather(1, places_BN))

    def _attainable(self, sums_BK: Tensor, alpha: float) -> Tensor:
        """An upper bound of the score that a live hypothesis can reach, (B,); see ``search.beam``."""
        shortest, longest_B = (length_penalty(n, alpha) for n in (self.step + 2, self._longest_B + 1))
        return sums_BK.amax(1) / torch.maximum(shortest, longest_B)


def _best(logits_RV: Tensor, request: BeamRequest, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Each row's log-normaliser, end symbol's logit, and top-k logits and tokens, banned ones excluded."""
    triton = kernel("engines.cuda.triton_best", logits_RV)
    if triton is not None and triton.suits(logits_RV, k):
        banned_V = _ban(request.banned, logits_RV.shape[1], logits_RV.device)
        out: tuple[Tensor, Tensor, Tensor, Tensor] = triton.best(logits_RV, banned_V, request.eos_id, k)
        return out
    logits_RV = logits_RV.float()
    normaliser_R, end_R = logits_RV.logsumexp(1), logits_RV[:, request.eos_id].clone()
    for token in request.banned:
        logits_RV[:, token] = -torch.inf
    return normaliser_R, end_R, *largest(logits_RV, k)


@cache
def _ban(tokens: tuple[int, ...], vocabulary: int, device: torch.device) -> Tensor:
    """True for these tokens, (V,)."""
    return torch.tensor([token in tokens for token in range(vocabulary)], device=device)


@dataclass(frozen=True, slots=True)
class _CapturedExtensions:
    """One-symbol extensions of the live hypotheses, X for each sentence; all (B, X). See ``search.beam``."""

    sums: Tensor
    tokens: Tensor
    cut: Tensor
