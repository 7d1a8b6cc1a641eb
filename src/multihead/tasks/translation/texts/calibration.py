"""Calibration of the confidence on held-out translations; see ``confidence``."""

import itertools
from collections.abc import Iterable, Sequence

from multihead.scores import sentence_chrf
from multihead.tasks.translation.lines.translation import Translation
from multihead.tasks.translation.texts.confidence import Calibration, length_ratio

MAX_POINTS = 200
"""Maximum number of points of a calibration."""
USUAL = 0.99
"""Share of the references that are of usual length."""
BEYOND_USUAL = 1.25
"""Factor beyond which an output is longer than usual."""


def raw_scores(translations: Sequence[Translation], references: Sequence[str]) -> list[tuple[float, float]]:
    """Return (mean token log-probability, sentence chrF from 0 to 1) of each searched translation."""
    quality = sentence_chrf([translation.text for translation in translations], references)
    return [
        (translation.hypotheses[0].log_probability / (len(translation.hypotheses[0].tokens) + 1), value / 100)
        for translation, value in zip(translations, quality, strict=True)
        if translation.hypotheses
    ]


def fit(
    log_probabilities: Sequence[float], qualities: Sequence[float], pairs: Iterable[tuple[str, str]] = ()
) -> Calibration:
    """Fit a calibration by isotonic regression (pool adjacent violators).

    Args:
        log_probabilities: mean token log-probability of each output.
        qualities: sentence chrF of each output, from 0 to 1.
        pairs: held-out sources and references, whose lengths tell which output is too long.

    Returns:
        The calibration; its ``error`` comes from two-fold cross-validation.
    """
    scores = sorted(zip(log_probabilities, qualities, strict=True))
    folds = [_isotonic(scores[start::2]) for start in (0, 1)]
    crossed = [(folds[1 - place % 2](x), y) for place, (x, y) in enumerate(scores)]
    ratios = sorted(length_ratio(*pair) for pair in pairs)
    longest = BEYOND_USUAL * ratios[int(USUAL * (len(ratios) - 1))] if ratios else 0.0
    return Calibration(_isotonic(scores).points, calibration_error(crossed), len(scores), round(longest, 3))


def _isotonic(pairs: Sequence[tuple[float, float]]) -> Calibration:
    least = max(1, len(pairs) // MAX_POINTS)
    blocks: list[tuple[float, float, int]] = []  # sums of both, count
    for start in range(0, len(pairs), least):
        group = pairs[start : start + least]
        blocks.append((sum(x for x, _ in group), sum(y for _, y in group), len(group)))
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][2] >= blocks[-1][1] * blocks[-2][2]:
            last = blocks.pop()
            before = blocks.pop()
            blocks.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    return Calibration(tuple((x / n, min(1.0, max(0.0, y / n))) for x, y, n in blocks), None, len(pairs))


def calibration_error(pairs: Sequence[tuple[float, float]], bins: int = 10) -> float:
    """Return the expected calibration error, over bins of equal size (Naeini et al. 2015).

    Args:
        pairs: (confidence, quality) of each output, both from 0 to 1.
        bins: number of bins.
    """
    if not pairs:
        return 0.0
    ordered = sorted(pairs)
    edges = [round(number * len(ordered) / bins) for number in range(bins + 1)]
    groups = [ordered[start:end] for start, end in itertools.pairwise(edges) if start < end]
    return sum(abs(sum(c - q for c, q in group)) for group in groups) / len(ordered)
