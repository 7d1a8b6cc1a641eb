"""Coverage penalty, which demotes hypotheses that leave source tokens unread (Wu et al. 2016, eq. 14).

``s(Y, X) = log P(Y | X) / lp(Y) + cp(X; Y)`` with ``cp(X; Y) = beta sum_i log(min(sum_j p_ij, 1))``, where
p_ij is the attention of output token j on source token i. The penalty only ranks finished hypotheses, so
every engine can search; the attention comes from a second, teacher-forced pass over them. It is averaged over
heads, and over layers with more weight on the more informative ones.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from multihead.errors import UserError
from multihead.inspect.maps import AlignmentHead, align, sentence
from multihead.inspect.maps.records import Attended
from multihead.search.outputs import Hypothesis, best
from multihead.text.tokenizer import Tokenizer

LEAST = 1e-6
"""Smallest coverage of a token; it keeps the logarithm finite."""
ROWS = 256
"""Hypotheses whose attention is recorded at a time."""


def ranked_by_coverage(
    attended: Attended,
    sources: Sequence[Sequence[int]],
    hypotheses: Sequence[Sequence[Hypothesis]],
    beta: float,
    *,
    source: Tokenizer,
    target: Tokenizer,
) -> list[list[Hypothesis]]:
    """Add the coverage penalty to the scores of each sentence's hypotheses; return them best first.

    Args:
        attended: function that returns the model's attention over the source.
        sources: tokens of the sentences, without the end symbol.
        hypotheses: their hypotheses.
        beta: weight of the penalty.
        source: source tokenizer.
        target: target tokenizer.

    Raises:
        UserError: the model has no attention over the source.
    """
    rows = [(ids, h) for ids, group in zip(sources, hypotheses, strict=True) for h in group]
    scored = []
    for begin in range(0, len(rows), ROWS):
        chunk = rows[begin : begin + ROWS]
        penalties = _penalties(attended, chunk, source, target)
        scored += [replace(h, score=h.score + beta * p) for (_, h), p in zip(chunk, penalties, strict=True)]
    remaining = iter(scored)
    return [best([next(remaining) for _ in group], len(group), distinct=False) for group in hypotheses]


def coverage(attention_TS: NDArray[np.floating]) -> float:
    """Sum over source tokens of the logarithm of their coverage, clipped to 1.

    Args:
        attention_TS: weights of each output token over the source tokens.
    """
    covered_S = attention_TS.sum(axis=0, dtype=np.float64).clip(LEAST, 1)
    return float(np.log(covered_S).sum())


def _penalties(
    attended: Attended, rows: Sequence[tuple[Sequence[int], Hypothesis]], source: Tokenizer, target: Tokenizer
) -> list[float]:
    sources, targets = [list(ids) for ids, _ in rows], [list(h.tokens) for _, h in rows]
    records = attended(sources, targets)
    if not records:
        raise UserError(
            "the model has no attention over the source, which the coverage penalty needs",
            place="search.coverage_penalty",
            remedy="Set it to 0.",
        )
    penalties = []
    for index, (source_ids, target_ids) in enumerate(zip(sources, targets, strict=True)):
        words = sentence(source, [*source_ids, source.eos_id], getattr(source, "tag_ids", ()))
        output = sentence(target, [*target_ids, target.eos_id])
        aligned = align(records, words, output, index=index, choice=AlignmentHead(all_layers=True))
        penalties.append(coverage(aligned.matrix_TS))
    return penalties
