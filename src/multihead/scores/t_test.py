"""Paired t-test (Student 1908)."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

ROUNDING = 1e-9
"""Relative spread up to which differences count as equal: scores are rounded, their differences are not."""


def paired_t_test(differences: Sequence[float]) -> float | None:
    """Return the two-sided p-value of a mean difference, under the hypothesis that it is zero.

    The differences are assumed independent and normally distributed. The distribution of t is a finite sum
    (Abramowitz and Stegun 1964, eq. 26.7.3 and 26.7.4).

    Args:
        differences: differences of pairs, such as the scores of two models with the same seed.

    Returns:
        the p-value; None for fewer than two differences, and for equal ones, whose spread is unknown.
    """
    if len(differences) < 2:
        return None
    spread, freedom = stdev(differences), len(differences) - 1
    if spread <= ROUNDING * max(map(abs, differences)):
        return None
    t = abs(fmean(differences)) / spread * math.sqrt(len(differences))
    angle = math.atan(t / math.sqrt(freedom))
    odd = freedom % 2
    term, total = math.cos(angle) if odd else 1.0, 0.0
    for power in range(2 + odd, freedom + 1, 2):
        total += term
        term *= (power - 1) / power * math.cos(angle) ** 2
    inside = math.sin(angle) * total
    if odd:
        inside = 2 / math.pi * (angle + inside)
    return max(0.0, 1 - inside)
