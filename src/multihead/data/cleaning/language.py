"""Language of each line, by character models that each side of the corpus teaches itself.

Two passes: a model of all lines finds the least probable tenth, and a second model learns without them, so
that a few foreign lines do not become part of the language.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multihead.data.cleaning.ngrams import CharacterModel, Lines
from multihead.data.plan import shuffled
from multihead.text.scripts import script

TRUSTED = 0.9
"""Share of the lines that the second model learns from."""
USUAL_SCRIPT = 0.01
"""Share of a side's letters from which on a script is usual there."""
FEW_LETTERS = 4
"""Lines with fewer letters have no script."""
SMALLEST_SPREAD = 0.05
"""Nats a character; the spread of lines of one length is at least this."""

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class Languages:
    """Verdicts of the character models on N pairs.

    Attributes:
        surprise: how far a line is below the usual log-probability of lines of its length, in spreads; one
            array (N,) a side.
        crossed: how much more probable the pair is with its sides exchanged, in nats, (N,).
        foreign: how much more probable a line is in the other side's language, in nats a character, one
            array a side.
        wordlike: whether a line is more probable than its characters in random order, one array a side.
        scripts: whether the letters of a line are of a side's usual scripts, one array a side.
    """

    surprise: tuple[Floats, Floats]
    crossed: Floats
    foreign: tuple[Floats, Floats]
    wordlike: tuple[Rows, Rows]
    scripts: tuple[Rows, Rows]


def languages(sources: Sequence[str], targets: Sequence[str]) -> Languages:
    """Judge the language of both sides of all pairs."""
    texts = (sources, targets)
    first = Lines(sources)
    sides = [first, Lines(targets, first.bits)]
    models, own = zip(*(_trusted_model(lines) for lines in sides), strict=True)
    other = [models[1].score(sides[0]), models[0].score(sides[1])]
    foreign = [theirs - ours for ours, theirs in zip(own, other, strict=True)]
    wordlike = []
    for side in (0, 1):
        mixed = Lines([_mixed(text, number) for number, text in enumerate(texts[side])], first.bits)
        wordlike.append(own[side] > models[side].score(mixed) + SMALLEST_SPREAD)
    return Languages(
        surprise=(_surprise(own[0], sides[0]), _surprise(own[1], sides[1])),
        crossed=foreign[0] * sides[0].lengths + foreign[1] * sides[1].lengths,
        foreign=(foreign[0], foreign[1]),
        wordlike=(wordlike[0], wordlike[1]),
        scripts=(_usual_scripts(sources), _usual_scripts(targets)),
    )


def _trusted_model(lines: Lines) -> tuple[CharacterModel, Floats]:
    every = np.ones(len(lines), dtype=bool)
    first = CharacterModel(lines).score(lines, every)
    trusted = first >= np.quantile(first, 1 - TRUSTED)
    model = CharacterModel(lines, trusted)
    return model, model.score(lines, trusted)


def _surprise(scores: Floats, lines: Lines) -> Floats:
    """Return how far each score is below the median of lines about as long, in units of the lower spread."""
    group = np.minimum((2 * np.log2(lines.lengths)).astype(np.int64), 30)
    found = np.zeros(len(scores))
    for number in np.unique(group):
        near = np.abs(group - number) <= 1
        middle, low = np.quantile(scores[near], (0.5, 0.16))
        rows = group == number
        found[rows] = (middle - scores[rows]) / max(middle - low, SMALLEST_SPREAD)
    return found


def _mixed(text: str, number: int) -> str:
    """Return the characters of a text in random order."""
    return "".join(text[place] for place in shuffled(len(text), number, "characters"))


def _usual_scripts(lines: Sequence[str]) -> Rows:
    """Return whether at least half of the letters of each line are of scripts usual among the lines, (N,)."""
    each = [Counter(script(letter) for letter in line if letter.isalpha()) for line in lines]
    total: Counter[str] = Counter()
    for counts in each:
        total.update(counts)
    usual = {name for name, count in total.items() if count >= USUAL_SCRIPT * total.total()}
    fits = [
        counts.total() < FEW_LETTERS or 2 * sum(counts[name] for name in usual) >= counts.total()
        for counts in each
    ]
    return np.array(fits, dtype=bool)
