"""Alignment of two texts by the lengths of their sentences or paragraphs (Gale and Church 1993).

A long sentence has a long translation: the most probable path through both texts pairs them, without knowing
a word of either language. Rare words that both texts have, such as names and numbers, are a hint besides
(as cognates are to Simard et al. 1992).
"""

import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

PRIORS = {(1, 1): 0.89, (1, 0): 0.0099, (0, 1): 0.0099, (2, 1): 0.089, (1, 2): 0.089, (2, 2): 0.011}
"""Probability that so many of the source match so many of the target (Table 5)."""
CELLS = {step: [(a + 1, b + 1) for a in range(step[0]) for b in range(step[1])] for step in PRIORS}
"""Places of a bead, counted back from its end."""
VARIANCE = 6.8
"""Of a translation's length, a character of its source (section 3.2)."""
BAND = 100
"""Least distance from the diagonal up to which paths are tried."""
UNTRIED = 1e9

RARE = 3
"""Most passages of a text in which a word that hints may occur."""
HINT, MOST_HINTS = 2.0, 3
"""Nats that a shared rare word is worth, and words that count."""

_WORD = re.compile(r"\d+|[^\W\d_]{3,}")

Hints = Mapping[tuple[int, int], int]
"""Number of rare words that a passage of the source and one of the target share, where there are any."""
Bead = tuple[range, range]
"""Neighbours in the source and in the target that translate each other; one of the two may be empty."""


def aligned(sources: Sequence[str], targets: Sequence[str]) -> list[Bead]:
    """Return the most probable alignment, in order; every number is in one bead.

    The target's characters for one of the source's, which the paper takes for 1, are estimated: by all of
    both texts, then by what was aligned one to one.

    Args:
        sources: sentences or paragraphs of the source.
        targets: those of the target.
    """
    sizes = [len(text) for text in sources], [len(text) for text in targets]
    hints = _hints(sources, targets)
    first = _aligned(*sizes, hints, max(1, sum(sizes[1])) / max(1, sum(sizes[0])))
    single = [(left[0], right[0]) for left, right in first if len(left) == len(right) == 1]
    sums = sum(sizes[0][i] for i, _ in single), sum(sizes[1][j] for _, j in single)
    return _aligned(*sizes, hints, sums[1] / sums[0]) if all(sums) else first


def _hints(sources: Sequence[str], targets: Sequence[str]) -> Hints:
    places = [_rare(texts) for texts in (sources, targets)]
    found: Counter[tuple[int, int]] = Counter()
    for word in places[0].keys() & places[1].keys():
        found.update((i, j) for i in places[0][word] for j in places[1][word])
    return found


def _rare(texts: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        for word in set(_WORD.findall(text.casefold())):
            places[word].append(number)
    return {word: found for word, found in places.items() if len(found) <= RARE}


def _aligned(sources: Sequence[int], targets: Sequence[int], hints: Hints, ratio: float) -> list[Bead]:
    lengths = [0, *_sums(sources)], [0, *_sums(targets)]
    width = max(BAND, 2 * abs(len(sources) - len(targets)))
    rows: list[tuple[int, array[float]]] = []
    moves: list[bytearray] = []
    steps = [(*step, -math.log(prior)) for step, prior in PRIORS.items()]
    for i in range(len(sources) + 1):
        middle = round(i * len(targets) / max(1, len(sources)))
        first, last = max(0, middle - width), min(len(targets), middle + width)
        costs = array("d", [UNTRIED]) * (last - first + 1)
        taken = bytearray(last - first + 1)
        rows.append((first, costs))
        moves.append(taken)
        for j in range(first, last + 1):
            if i == j == 0:
                costs[0] = 0.0
                continue
            best, move = UNTRIED, 0
            for number, (left, right, prior) in enumerate(steps):
                if left > i or right > j:
                    continue
                start, before = rows[i - left]
                if not 0 <= j - right - start < len(before):
                    continue
                cost = before[j - right - start] + prior
                if cost - HINT * MOST_HINTS >= best:
                    continue
                if left and right:
                    cost += _mismatch(
                        lengths[0][i] - lengths[0][i - left], lengths[1][j] - lengths[1][j - right], ratio
                    )
                    shared = sum(hints.get((i - a, j - b), 0) for a, b in CELLS[left, right])
                    cost -= HINT * min(shared, MOST_HINTS)
                if cost < best:
                    best, move = cost, number
            costs[j - first], taken[j - first] = best, move
    found: list[Bead] = []
    i, j = len(sources), len(targets)
    while i or j:
        left, right, _ = steps[moves[i][j - rows[i][0]]]
        found.append((range(i - left, i), range(j - right, j)))
        i, j = i - left, j - right
    return found[::-1]


def _sums(lengths: Sequence[int]) -> Iterator[int]:
    total = 0
    for length in lengths:
        total += length
        yield total


def _mismatch(source: int, target: int, ratio: float) -> float:
    """Return the negative log-probability of two lengths that differ at least so much (eq. 1 and 2)."""
    mean = (source + target / ratio) / 2
    if mean <= 0:
        return 0.0
    difference = (target - source * ratio) / math.sqrt(mean * ratio * VARIANCE)
    return min(100.0, -math.log(max(1e-44, math.erfc(abs(difference) / math.sqrt(2)))))
