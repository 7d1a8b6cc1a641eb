"""Finished and live hypotheses, and the length penalty that compares them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from multihead.search.outputs import Hypothesis, best, length_penalty

__all__ = ["FinishedHypotheses", "Hypothesis", "Live", "best", "length_penalty", "to_drop"]


@dataclass(frozen=True, slots=True)
class Live:
    """The live hypotheses: K rows for each of the B sentences still searched (R = B * K).

    Attributes:
        sentences: indices into the input, (B,).
        longest: maximum length of each output in tokens, (B,).
        written: tokens so far, forced prefix included, (B,); all rows of a sentence are equally long.
        history: begin symbol and tokens, aligned on the right, -1 before them, (R, T).
        sums: log-probabilities, (B, K); -infinity: the row is not in use.
        soonest: the first step at which a sentence can be at its limit.
    """

    sentences: Tensor
    longest: Tensor
    written: Tensor
    history: Tensor
    sums: Tensor
    soonest: int

    @classmethod
    def begin(cls, prefixes: Sequence[Sequence[int]], longest_B: Tensor) -> "Live":
        """Return one row per sentence, holding its prefix."""
        assert all(prefixes), "a prefix has at least the begin symbol"
        width = max(map(len, prefixes))
        flush_right = [[-1] * (width - len(prefix)) + list(prefix) for prefix in prefixes]
        device = longest_B.device
        written_B = torch.tensor([len(prefix) - 1 for prefix in prefixes], device=device)
        return cls(
            sentences=torch.arange(len(prefixes), device=device),
            longest=longest_B,
            written=written_B,
            history=torch.tensor(flush_right, dtype=torch.long, device=device),
            sums=torch.zeros(len(prefixes), 1, device=device),
            soonest=int((longest_B - written_B).min()),
        )

    @property
    def last(self) -> Tensor:
        """The token that each row wrote last, (R,)."""
        return self.history[:, -1]

    @property
    def at_limit(self) -> Tensor:
        """True for sentences at their maximum length, where only the end symbol can follow, (B,)."""
        return self.written >= self.longest

    def may_be_at_limit(self, step: int) -> bool:
        """Return whether ``at_limit`` can be True anywhere, without synchronising with the device."""
        return step >= self.soonest

    def rows(self, parents_BK: Tensor) -> Tensor:
        """Indices into R, (B * K',), of rows given by their number within their sentence."""
        first_B1 = torch.arange(len(parents_BK), device=parents_BK.device)[:, None] * self.sums.shape[1]
        return (first_B1 + parents_BK).flatten()

    def keep(self, kept: Tensor) -> "Live":
        """Keep these sentences only."""
        every_row = torch.arange(self.sums.shape[1], device=kept.device).expand(len(kept), -1)
        first = (kept * self.sums.shape[1])[:, None]
        return Live(
            self.sentences[kept],
            self.longest[kept],
            self.written[kept],
            self.history[(first + every_row).flatten()],
            self.sums[kept],
            self.soonest,
        )

    def repeat_rows(self, copies: int) -> "Live":
        """Return every row ``copies`` times."""
        return Live(
            self.sentences,
            self.longest,
            self.written,
            self.history.repeat_interleave(copies, dim=0),
            self.sums.repeat_interleave(copies, dim=1),
            self.soonest,
        )

    def extend(self, rows: Tensor | None, tokens_BK: Tensor, sums_BK: Tensor) -> "Live":
        """Append a token to each of ``rows`` (None: to every row, in order)."""
        history_RT = self.history if rows is None else self.history[rows]
        return Live(
            self.sentences,
            self.longest,
            self.written + 1,
            torch.cat([history_RT, tokens_BK.flatten()[:, None]], dim=1),
            sums_BK,
            self.soonest,
        )


def to_drop(live: Live, done_B: Tensor, step: int) -> Tensor | None:
    """Indices of the sentences to keep, if dropping the finished ones pays off; else None.

    Dropping copies the state of the others, so it waits until an eighth is finished. But a finished sentence
    at its limit is dropped at once: the model may have no more positions.
    """
    (going,) = (~done_B).nonzero(as_tuple=True)
    past_limit = live.may_be_at_limit(step) and bool((done_B & live.at_limit).any())
    return going if past_limit or 8 * (len(done_B) - len(going)) >= len(done_B) else None


class FinishedHypotheses:
    """Finished hypotheses, collected as tensors and converted to objects once, at the end."""

    def __init__(self, sentences: int, alpha: float) -> None:
        self._sentences, self._alpha = sentences, alpha
        self._parts: list[tuple[Tensor, ...]] = []

    def add(self, live: Live, chosen_BX: Tensor, parents_BX: Tensor, sums_BX: Tensor, cut_BX: Tensor) -> None:
        """Add the rows ``parents`` where ``chosen``; ``sums`` include the end symbol."""
        sentence_N, place_N = chosen_BX.nonzero(as_tuple=True)
        if not len(sentence_N):
            return
        rows_N = sentence_N * live.sums.shape[1] + parents_BX[sentence_N, place_N]
        sums_N = sums_BX[sentence_N, place_N]
        scores_N = sums_N / length_penalty(live.written[sentence_N] + 1, self._alpha)
        finished_N = ~cut_BX[sentence_N, place_N]
        self._parts.append((live.sentences[sentence_N], live.history[rows_N], sums_N, scores_N, finished_N))

    def hypotheses(self, n_best: int, *, distinct: bool = True) -> list[list[Hypothesis]]:
        """The n best of each sentence, best first; with ``distinct``, no two have the same tokens."""
        by_sentence: list[list[Hypothesis]] = [[] for _ in range(self._sentences)]
        for part in self._parts:
            for sentence, history, total, score, finished in zip(*(t.tolist() for t in part), strict=True):
                tokens = tuple(token for token in history if token >= 0)[1:]
                by_sentence[sentence].append(Hypothesis(tokens, total, score, finished))
        return [best(hypotheses, n_best, distinct=distinct) for hypotheses in by_sentence]
