"""Outputs of a search, and the length penalty that compares them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

N = TypeVar("N")
"""A number, or a tensor of numbers."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One output of a search.

    Attributes:
        tokens: the output, forced prefix included, without begin and end symbol.
        log_probability: natural logarithm of the model's probability of everything after the forced prefix,
            end symbol included. Constraints and temperature restrict the choice; they do not change this
            number.
        score: ``log_probability`` over the length penalty; hypotheses are sorted by it.
        finished: False if the output was cut off: the maximum length or the constraints forced the end symbol
            where the model preferred another token.
    """

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool


def length_penalty(length: N, alpha: float) -> N:
    """``((5 + |Y|) / 6)^alpha`` (Wu et al. 2016, eq. 14; ``generation.coverage`` has the other term).

    ``length``, |Y|, counts every target symbol but the begin symbol: forced prefix, tokens, end symbol.
    """
    penalty: N = ((5 + length) / 6) ** alpha  # type: ignore[operator]
    return penalty


def best(hypotheses: Iterable[Hypothesis], n_best: int, *, distinct: bool = True) -> list[Hypothesis]:
    """Return the n best, best first; with ``distinct``, no two have the same tokens."""
    ordered = sorted(hypotheses, key=lambda h: -h.score)
    if distinct:
        first: dict[tuple[int, ...], Hypothesis] = {}
        for hypothesis in ordered:
            first.setdefault(hypothesis.tokens, hypothesis)
        ordered = list(first.values())
    return ordered[:n_best]
