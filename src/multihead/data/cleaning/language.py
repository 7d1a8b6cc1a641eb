"""Language of each line, judged by character models trained on each side of the corpus itself.

Two passes: models of all lines find the least probable tenth, and lines of the other side's language. Second
models learn without these, so that a few foreign lines do not become part of the language.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multihead.data.cleaning.ngrams import CharacterModel, LineNgrams
from multihead.data.plan import shuffle_indices
from multihead.text.scripts import script

TRUSTED = 0.9
"""Share of the lines that the second model learns from."""
MOST_CROSSED = 0.2
"""Lines more probable in the other side's language are left out, unless they exceed this share."""
USUAL_SCRIPT = 0.01
"""Minimum share of a side's letters for a script to be usual there."""
FEW_LETTERS = 4
"""Lines with fewer letters have no script."""
CHARACTER_SPREAD = 1.0
"""Nats; the spread of lines of n characters is at least this / sqrt(n), however alike the lines are."""
WORDLIKE = 0.05
"""Nats per character that a line must gain over its characters in random order."""

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class LanguageVerdicts:
    """Verdicts of the character models on N pairs.

    Attributes:
        surprise: how far a line is below the usual log-probability of lines of its length, in spreads; one
            array (N,) a side.
        crossed: nats by which the pair is more probable with its sides exchanged, (N,).
        foreign: nats per character by which a line is more probable in the other side's language, one
            array a side.
        wordlike: whether a line is more probable than its characters in random order, one array a side.
        scripts: whether the letters of a line are of a side's usual scripts, one array a side.
    """

    surprise: tuple[Floats, Floats]
    crossed: Floats
    foreign: tuple[Floats, Floats]
    wordlike: tuple[Rows, Rows]
    scripts: tuple[Rows, Rows]


def languages(sources: Sequence[str], targets: Sequence[str]) -> LanguageVerdicts:
    """Judge the language of both sides of all pairs. Repeated lines count once."""
    unique = [list(dict.fromkeys(lines)) for lines in (sources, targets)]
    bits = LineNgrams(unique[0]).bits
    sides = [LineNgrams(lines, bits) for lines in unique]
    first = [CharacterModel(lines) for lines in sides]
    trusted = [_trusted_lines(sides[side], first[side], first[1 - side]) for side in (0, 1)]
    del first  # four models at once would take twice the memory
    models = [CharacterModel(lines, rows) for lines, rows in zip(sides, trusted, strict=True)]
    scores = [models[side].score(sides[side], trusted[side]) for side in (0, 1)]
    foreign = [models[1 - side].score(sides[side]) - scores[side] for side in (0, 1)]
    wordlike = []
    for side in (0, 1):
        mixed = LineNgrams([_mix(text, number) for number, text in enumerate(unique[side])], bits)
        wordlike.append(scores[side] > models[side].score(mixed) + WORDLIKE)
    rows = [_places(unique[side], lines) for side, lines in enumerate((sources, targets))]
    crossed = [(foreign[side] * sides[side].lengths)[rows[side]] for side in (0, 1)]
    surprise = [_surprise(scores[side], sides[side])[rows[side]] for side in (0, 1)]
    return LanguageVerdicts(
        surprise=(surprise[0], surprise[1]),
        crossed=crossed[0] + crossed[1],
        foreign=(foreign[0][rows[0]], foreign[1][rows[1]]),
        wordlike=(wordlike[0][rows[0]], wordlike[1][rows[1]]),
        scripts=(_usual_scripts(sources), _usual_scripts(targets)),
    )


def _places(unique: Sequence[str], lines: Sequence[str]) -> NDArray[np.int64]:
    numbers = {text: number for number, text in enumerate(unique)}
    return np.array([numbers[text] for text in lines], dtype=np.int64)


def _trusted_lines(lines: LineNgrams, model: CharacterModel, other: CharacterModel) -> Rows:
    """Return the lines that a side's second model learns from, (N,).

    Lines that the other side's model explains better are left out too, unless there are many: then both sides
    are in one language.
    """
    every = np.ones(len(lines), dtype=bool)
    scores = model.score(lines, every)
    probable: Rows = scores >= np.quantile(scores, 1 - TRUSTED)
    crossed = other.score(lines) > scores
    return probable if crossed.mean() > MOST_CROSSED else probable & ~crossed


def _surprise(scores: Floats, lines: LineNgrams) -> Floats:
    """Return how far each score is below the median of lines about as long, in units of the lower spread."""
    group = np.minimum((2 * np.log2(lines.lengths)).astype(np.int64), 30)
    surprise = np.zeros(len(scores))
    for number in np.unique(group):
        near = np.abs(group - number) <= 1
        middle, low = np.quantile(scores[near], (0.5, 0.16))
        rows = group == number
        least = CHARACTER_SPREAD / np.sqrt(lines.lengths[rows])
        surprise[rows] = (middle - scores[rows]) / np.maximum(middle - low, least)
    return surprise


def _mix(text: str, number: int) -> str:
    """Return the characters of a text in random order."""
    return "".join(text[place] for place in shuffle_indices(len(text), number, "characters"))


def _usual_scripts(lines: Sequence[str]) -> Rows:
    """Return whether at least half of the letters of each line are of scripts usual among the lines, (N,)."""
    line_counts = [Counter(script(letter) for letter in line if letter.isalpha()) for line in lines]
    total: Counter[str] = Counter()
    for counts in line_counts:
        total.update(counts)
    usual = {name for name, count in total.items() if count >= USUAL_SCRIPT * total.total()}
    fits = [
        counts.total() < FEW_LETTERS or 2 * sum(counts[name] for name in usual) >= counts.total()
        for counts in line_counts
    ]
    return np.array(fits, dtype=bool)
