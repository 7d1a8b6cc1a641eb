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


def zones(text: str, line: SearchedLine) -> list[tuple[Span, Span]]:
    """Return the places of a line's placeholders in its translation, with those in the sentence."""
    spans = [span for _, span in line.table.entries] + list(line.table.left)
    places = locate(text, [span.text for span in spans])
    return sorted(
        (place, Span(span.start, span.end)) for place, span in zip(places, spans, strict=True) if place
    )


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


def anchor(weights: Weights, zones: Sequence[tuple[Span, Span]]) -> Weights:
    """Return weights in which each placeholder is one word, aligned to itself alone.

    Args:
        weights: attention of words.
        zones: places of placeholders in the translation and in the sentence.
    """
    rows, matrix_TS = _merge(weights.rows, weights.matrix_TS, [place for place, _ in zones])
    columns, matrix_ST = _merge(weights.columns, matrix_TS.T, [source for _, source in zones])
    matrix_TS = matrix_ST.T.copy()
    for place, source in zones:
        row = next(number for number, span in enumerate(rows) if span.start <= place.start < span.end)
        column = next(number for number, span in enumerate(columns) if span.start <= source.start < span.end)
        others = np.arange(len(rows)) != row
        matrix_TS[others, column] = 0
        matrix_TS[row] = np.arange(len(columns)) == column
    return Weights(matrix_TS, rows, columns)


def _merge(words: Sequence[Span], weights: Floats, zones: Sequence[Span]) -> tuple[list[Span], Floats]:
    """Return words, of which those in a zone are one, with the means of their weights, (words, ...)."""
    spans: list[Span] = []
    groups: list[list[int]] = []
    for span, number in sorted(
        [*((word, at) for at, word in enumerate(words)), *((zone, -1) for zone in zones)]
    ):
        members = [number] if number >= 0 else []
        if spans and span.start < spans[-1].end:
            spans[-1] = Span(spans[-1].start, max(span.end, spans[-1].end))
            groups[-1] += members
        else:
            spans.append(span)
            groups.append(members)
    merged = np.zeros((len(spans), weights.shape[1]))
    for place, group in enumerate(groups):
        merged[place] = weights[group].mean(axis=0) if group else 0.0
    return spans, merged
