"""Alignment of a translation's words to its source's words, by attention or position."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multihead.tasks.translation.texts.protected_line import SearchedLine
from multihead.tasks.translation.texts.text_layout import Span
from multihead.text.lexicon import WORD

Floats = NDArray[np.float64]


class Weights(NamedTuple):
    """Attention of target words on source words.

    Attributes:
        matrix_TS: rows sum to 1, or to 0.
        rows: place of each target word in the translation.
        columns: place of each source word in the sentence.
    """

    matrix_TS: Floats
    rows: list[Span]
    columns: list[Span]


def zones(text: str, line: SearchedLine) -> list[Span]:
    """Return the places of a line's placeholders in its translation, which tags must not split."""
    spans = [span for _, span in line.table.entries] + list(line.table.left)
    return sorted(place for place in locate(text, [span.text for span in spans]) if place)


def locate(text: str, parts: Sequence[str]) -> list[Span | None]:
    """Return the place of each part in a text; equal parts have successive places; None: it is missing."""
    places: list[Span | None] = []
    ends: dict[str, int] = {}
    for part in parts:
        start = text.find(part, ends.get(part, 0))
        if start >= 0:
            ends[part] = start + len(part)
        places.append(Span(start, start + len(part)) if start >= 0 else None)
    return places


def proportional(sentence: str, text: str) -> Weights:
    """Return weights by position alone: words attend to words at the same relative position."""
    rows, columns = _words(text), _words(sentence)
    if not rows or not columns:
        return Weights(np.zeros((len(rows), len(columns))), rows, columns)
    low, high = np.array(rows).T[:, :, None] * (len(sentence) / len(text))
    first, last = np.array(columns).T[:, None, :]
    overlap_TS = np.maximum(np.minimum(high, last) - np.maximum(low, first), 0)
    nearest_TS = np.abs(first + last - low - high)
    alone_T = ~overlap_TS.any(axis=1)
    overlap_TS[alone_T, nearest_TS.argmin(axis=1)[alone_T]] = 1
    return Weights(overlap_TS / overlap_TS.sum(axis=1, keepdims=True), rows, columns)


def _words(text: str) -> list[Span]:
    return [Span(*match.span()) for match in WORD.finditer(text)]


def as_wholes(sentence: str, text: str) -> Weights:
    """Return weights if a sentence or its translation has no words: each counts as one word."""
    return Weights(np.ones((1, 1)), [Span(0, len(text))], [Span(0, len(sentence))])


def merge(weights: Weights, zones: Sequence[Span]) -> Weights:
    """Return weights in which the words of each zone of the translation are one word."""
    rows: list[Span] = []
    groups: list[list[int]] = []
    for number, row in enumerate(weights.rows):
        inside = [zone for zone in zones if row.start < zone.end and zone.start < row.end]
        row = Span(min([row.start, *(z.start for z in inside)]), max([row.end, *(z.end for z in inside)]))
        if rows and row.start < rows[-1].end:
            rows[-1] = Span(rows[-1].start, max(row.end, rows[-1].end))
            groups[-1].append(number)
        else:
            rows.append(row)
            groups.append([number])
    matrix_TS = np.array([weights.matrix_TS[group].mean(axis=0) for group in groups])
    return Weights(matrix_TS, rows, weights.columns)
