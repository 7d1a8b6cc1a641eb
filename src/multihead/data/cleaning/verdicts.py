"""Reasons to drop pairs that do not fit their corpus, with the evidence as numbers.

Everything is learned from the corpus itself; no rule is specific to a language or a corpus.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from multihead.data.cleaning import lexical, surface
from multihead.data.cleaning.language import LanguageVerdicts, languages
from multihead.data.cleaning.lexical import Evidence
from multihead.system.progress import OnProgress

Reason = Literal[
    "empty",
    "swapped",
    "script",
    "language",
    "noise",
    "misaligned",
    "unlikely",
    "numbers",
    "placeholders",
    "duplicate",
]
REASONS: tuple[Reason, ...] = get_args(Reason)

EXPLANATION: Mapping[Reason, str] = {
    "empty": "one side is empty",
    "swapped": "each side is in the other's language",
    "script": "letters of a script that is unusual on this side",
    "language": "one side is in another language",
    "noise": "one side is not running text",
    "misaligned": "paired with the next or the last line's translation",
    "unlikely": "the words of each side do not explain the other's",
    "numbers": "the numbers differ",
    "placeholders": "variables, tags or addresses differ",
    "duplicate": "the same words as an earlier pair",
}

CHUNK = 200_000
"""Consecutive pairs that are judged together; a longer corpus is judged in parts."""
FEWEST = 200
"""Minimum size of a corpus that can judge itself; smaller ones get the checks of single pairs."""
DOUBTFUL = -1.4
"""Log-odds below which a pair is dropped."""
STRANGE, DISTRUST = 2.0, 0.3
"""Beyond STRANGE spreads below the usual probability, each further spread lowers the log-odds by DISTRUST."""
FOREIGN = 6.0
"""Spreads above which such a pair is dropped for its language rather than its words."""
MOST_DOUBTFUL = 0.2
"""Share of doubtful pairs above which the corpus is too small or too free to be judged by its words."""
UNRELATED, ENOUGH = 0.6, 500
"""Separation of true from random pairs below which the sides seem unrelated, given ENOUGH pairs. It was
0.70 for sentences and two labels, 0.87 to 1.00 for other corpora, at most 0.59 for shuffled lines."""
CROSSED = 2.0
"""Nats that a pair must gain when its sides are exchanged."""
APART = 0.5
"""Nats per character that the median line loses in the other side's language, if the two differ."""
CROSSED_EACH = 0.05
"""Nats per character that each side must gain by the exchange."""


@dataclass(frozen=True)
class Judgement:
    """Reasons to drop N pairs.

    Attributes:
        reasons: a number into ``REASONS``, -1 to keep, (N,).
        odds: log-odds that the two sides belong together, (N,).
        twins: the number, from 0, of the earlier pair that a duplicate repeats, else its own number, (N,).
        moved: number of lines the targets are shifted by, (N,).
        separation: how well words separate pairs from random ones, see ``lexical.Evidence``; the minimum over
            all parts. None: too few pairs.
    """

    reasons: NDArray[np.int8]
    odds: NDArray[np.float64]
    twins: NDArray[np.int64]
    moved: NDArray[np.int64]
    separation: float | None

    @property
    def unrelated(self) -> bool:
        """True if the sides of the pairs seem to have nothing to do with each other."""
        return self.separation is not None and self.separation < UNRELATED


def judge(pairs: Sequence[tuple[str, str]], *, progress: OnProgress | None = None) -> Judgement:
    """Judge the pairs of a corpus, in the order of its files."""
    reasons = np.full(len(pairs), -1, dtype=np.int8)
    odds = np.zeros(len(pairs))
    moved = np.zeros(len(pairs), dtype=np.int64)
    separations = []
    for start in range(0, len(pairs), CHUNK):
        rows = slice(start, min(start + CHUNK, len(pairs)))
        reasons[rows], odds[rows], moved[rows], separation = _judge(pairs[rows])
        separations.append(separation)
        if progress:
            progress("judging", rows.stop, len(pairs))
    twins = np.fromiter(surface.near_duplicates(pairs), np.int64, len(pairs))
    seen: set[int] = set()
    for number in np.flatnonzero(reasons < 0).tolist():
        # An earlier twin that is dropped leaves this pair as the first.
        twin = int(twins[number])
        if twin in seen:
            reasons[number] = REASONS.index("duplicate")
        seen.add(twin)
    separation = min((value for value in separations if value is not None), default=None)
    return Judgement(reasons, odds, twins, moved, separation)


def _judge(
    pairs: Sequence[tuple[str, str]],
) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.int64], float | None]:
    reasons = np.full(len(pairs), -1, dtype=np.int8)
    odds = np.zeros(len(pairs))
    moved = np.zeros(len(pairs), dtype=np.int64)
    separation = None

    def mark(reason: Reason, rows: NDArray[np.bool_], among: NDArray[np.int64]) -> None:
        free = among[rows & (reasons[among] < 0)]
        reasons[free] = REASONS.index(reason)

    every = np.arange(len(pairs))
    mark("empty", np.array([not (a.strip() and b.strip()) for a, b in pairs], dtype=bool), every)
    full = np.flatnonzero(reasons < 0)
    whole = [pairs[number] for number in full.tolist()]
    mark("noise", surface.noisy(whole), full)
    if len(full) >= FEWEST:
        sources, targets = ([" ".join(pair[side].split()) for pair in whole] for side in (0, 1))
        verdicts = languages(sources, targets)
        proof = lexical.evidence(sources, targets)
        odds[full], moved[full] = proof.direct, proof.moved
        separation = proof.separation if len(full) >= ENOUGH else None
        written = np.array([all(any(map(str.isalpha, text)) for text in pair) for pair in whole])
        for reason, rows in _by_models(verdicts, proof, written):
            mark(reason, rows, full)
    for kind, spans, either in (
        ("numbers", surface.numbers, False),
        ("placeholders", surface.placeholders, True),
    ):
        left = np.flatnonzero(reasons < 0)
        items = [(spans(pairs[number][0]), spans(pairs[number][1])) for number in left.tolist()]
        mark(kind, surface.differing(items, either=either), left)  # type: ignore[arg-type]
    return reasons, odds, moved, separation


def _by_models(
    verdicts: LanguageVerdicts, proof: Evidence, written: NDArray[np.bool_]
) -> Iterator[tuple[Reason, NDArray[np.bool_]]]:
    """Yield the models' verdicts in order of precedence; ``written``: both sides have letters."""
    both_foreign = (verdicts.foreign[0] > CROSSED_EACH) & (verdicts.foreign[1] > CROSSED_EACH)
    two_languages = all(np.median(foreign) < -APART for foreign in verdicts.foreign)
    yield "swapped", written & both_foreign & (verdicts.crossed > CROSSED) & two_languages
    yield "script", ~(verdicts.scripts[0] & verdicts.scripts[1])
    most = np.maximum(*verdicts.surprise)
    doubtful = proof.direct - DISTRUST * np.maximum(0.0, most - STRANGE) < DOUBTFUL
    moved = proof.moved != 0
    if np.mean(doubtful & ~moved) > MOST_DOUBTFUL:
        return
    strange = [doubtful & (surprise > FOREIGN) for surprise in verdicts.surprise]
    words = [rows & wordlike for rows, wordlike in zip(strange, verdicts.wordlike, strict=True)]
    yield "language", words[0] | words[1]
    yield "noise", strange[0] | strange[1]
    yield "misaligned", moved
    yield "unlikely", doubtful
