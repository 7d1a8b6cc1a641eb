"""Alignment of two texts by the lengths of their sentences or paragraphs (Gale and Church 1993).

A long sentence has a long translation: the most probable path through both texts pairs them, without knowing
a word of either language. Rare words that both texts share, such as names and numbers, are a further hint
(like the cognates of Simard et al. 1992).
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

SENTENCES = {(1, 1): 0.89, (1, 0): 0.0099, (0, 1): 0.0099, (2, 1): 0.089, (1, 2): 0.089, (2, 2): 0.011}
"""Prior probability of each (source, target) size of a bead (Table 5)."""
PARAGRAPHS = {(1, 1): 0.95, (1, 0): 0.02, (0, 1): 0.02, (2, 1): 0.004, (1, 2): 0.004, (2, 2): 0.001}
"""Priors for paragraphs, headings and cells: our estimate, since translators seldom join these."""
VARIANCE = 6.8
"""Variance of a translation's length per source character (section 3.2)."""
BAND = 100
"""Minimum distance from the diagonal that paths may reach."""
ROW = 100
"""Fixed cost of a source passage, in pairs of passages."""
UNTRIED = 1e9
MARGIN = 2
"""Padding before the first place, for the longest step."""

RARE = 3
"""Maximum number of a text's passages in which a rare word occurs."""
HINT, MOST_HINTS = 2.0, 3
"""Nats gained by a shared rare word, and the maximum number of words that count."""
TAG, MOST_TAGS = 1.5, 4
"""Nats lost by a tag that the other side lacks, and the maximum number of tags that count."""

_WORD = re.compile(r"\d+|[^\W\d_]{3,}")

Hints = Mapping[tuple[int, int], int]
"""Number of rare words that a passage of the source and one of the target share, if any."""
Bead = tuple[range, range]
"""Consecutive passages of source and target that translate each other; one range may be empty."""


def align_lengths(
    sources: Sequence[str],
    targets: Sequence[str],
    priors: Mapping[tuple[int, int], float] = SENTENCES,
    tags: tuple[Sequence[int], Sequence[int]] | None = None,
) -> list[Bead]:
    """Return the most probable alignment, in order; every passage is in one bead.

    The ratio of target to source characters, 1 in the paper, is estimated: from both whole texts, then as
    the median over passages aligned one to one.

    Args:
        sources: sentences or paragraphs of the source.
        targets: sentences or paragraphs of the target.
        priors: ``SENTENCES`` or ``PARAGRAPHS``.
        tags: number of tags in each passage, for both sides.
    """
    sizes = [len(text) for text in sources], [len(text) for text in targets]
    hints = _hints(sources, targets)
    counts = tags or ([0] * len(sources), [0] * len(targets))
    first = _align(*sizes, priors, hints, counts, max(1, sum(sizes[1])) / max(1, sum(sizes[0])))
    pairs = [(sizes[0][left[0]], sizes[1][right[0]]) for left, right in first if len(left) == len(right) == 1]
    ratios = [other_length / length for length, other_length in pairs if length and other_length]
    return _align(*sizes, priors, hints, counts, median(ratios)) if ratios else first


def paths(sources: int, targets: int) -> int:
    """Return the approximate cost of aligning so many passages; 100,000 take less than a second."""
    return sources * (ROW + min(targets, 2 * _width(sources, targets)))


def _width(sources: int, targets: int) -> int:
    return max(BAND, 2 * abs(sources - targets))


def _hints(sources: Sequence[str], targets: Sequence[str]) -> Hints:
    places = [_rare(texts) for texts in (sources, targets)]
    counts: Counter[tuple[int, int]] = Counter()
    for word in places[0].keys() & places[1].keys():
        counts.update((i, j) for i in places[0][word] for j in places[1][word])
    return counts


def _rare(texts: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        for word in set(_WORD.findall(text.casefold())):
            places[word].append(number)
    return {word: numbers for word, numbers in places.items() if len(numbers) <= RARE}


def _align(
    sources: Sequence[int],
    targets: Sequence[int],
    priors: Mapping[tuple[int, int], float],
    hints: Hints,
    tags: tuple[Sequence[int], Sequence[int]],
    ratio: float,
) -> list[Bead]:
    count, width = len(targets), _width(len(sources), len(targets))
    lengths, marks = (_sums(sources), _sums(targets)), (_sums(tags[0]), _sums(tags[1]))
    steps = [(*step, -math.log(prior)) for step, prior in priors.items()]
    down = next(number for number, step in enumerate(priors) if step == (0, 1))
    outside = np.full(count + 1 + MARGIN, UNTRIED)
    costs = [outside, outside, outside]  # of this row and the two before it
    shared = [np.zeros(count + 1 + MARGIN)] * 2
    by_row: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (i, j), times in hints.items():
        by_row[i].append((j, times))
    moves: list[tuple[int, NDArray[np.uint8]]] = []
    for i in range(len(sources) + 1):
        middle = round(i * count / max(1, len(sources)))
        first, last = max(0, middle - width), min(count, middle + width)

        def part(row: NDArray[Any], back: int, first: int = first, last: int = last) -> NDArray[Any]:
            """Return a row's entries in the band, shifted back by ``back``."""
            return row[first + MARGIN - back : last + 1 + MARGIN - back]

        best = np.full(last - first + 1, UNTRIED)
        best[0] = 0.0 if i == 0 else UNTRIED
        choices = np.zeros(last - first + 1, dtype=np.uint8)
        words = np.zeros(count + 1 + MARGIN)
        for j, times in by_row[i - 1]:
            words[j + 1 + MARGIN] = times
        shared = [words, shared[0]]
        costs = [outside.copy(), *costs[:2]]
        for number, (left, right, prior) in enumerate(steps):
            if not 0 < left <= i:
                continue
            cost = part(costs[left], right) + prior
            if right:
                source = float(lengths[0][i + MARGIN] - lengths[0][i + MARGIN - left])
                cost += _mismatch(source, part(lengths[1], 0) - part(lengths[1], right), ratio)
                missing = marks[0][i + MARGIN] - marks[0][i + MARGIN - left]
                missing = np.abs(missing - (part(marks[1], 0) - part(marks[1], right)))
                common = sum(part(shared[a], b) for a, b in product(range(left), range(right)))
                cost += TAG * np.minimum(missing, MOST_TAGS) - HINT * np.minimum(common, MOST_HINTS)
            choices[cost < best] = number
            best = np.minimum(cost, best)
        # An unmatched target follows its left neighbour: take the minimum over all of them.
        slope = steps[down][2] * np.arange(len(best))
        along = np.minimum.accumulate(best - slope) + slope
        choices[along < best - 1e-9] = down
        part(costs[0], 0)[:] = along
        moves.append((first, choices))
    beads: list[Bead] = []
    i, j = len(sources), count
    while i or j:
        first, choices = moves[i]
        left, right, _ = steps[choices[j - first]]
        beads.append((range(i - left, i), range(j - right, j)))
        i, j = i - left, j - right
    return beads[::-1]


def _sums(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1 + MARGIN, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


_STEP = 0.001
_RARITY = np.array([-math.log(max(1e-44, math.erfc(_STEP * number))) for number in range(10_001)])
"""Negative log-probability that a normal variable lies at least ``_GRID`` from its mean."""
_GRID = _STEP * np.arange(len(_RARITY))
"""Distances in standard deviations, divided by the square root of 2."""


def _mismatch(source: float, targets: NDArray[np.int64], ratio: float) -> NDArray[np.float64]:
    """Return the negative log-probability of lengths that differ at least so much (eq. 1 and 2)."""
    means = np.maximum((source + targets / ratio) / 2, 1e-9)
    far = np.abs(targets - source * ratio) / np.sqrt(means * (ratio * VARIANCE * 2))
    cost: NDArray[np.float64] = np.interp(far, _GRID, _RARITY)
    return np.minimum(100.0, cost)
