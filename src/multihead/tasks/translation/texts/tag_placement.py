"""Placement of inline tags in a translation by its word attention on the source.

A pair of tags goes around the span of target words that attend most to the words inside it. A single tag, or
a pair without words, goes to the place that best divides words that attend to its left and to its right.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import regex

from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.texts.protected_line import SearchedLine
from multihead.tasks.translation.texts.tag_alignment import (
    Floats,
    Weights,
    anchor,
    as_wholes,
    proportional,
    zones,
)
from multihead.tasks.translation.texts.text_layout import SentenceUnit
from multihead.text.lexicon import Lexicon
from multihead.text.markup import Markup, Piece, Tag

BATCH = 32
"""Sentences whose attention is recorded together."""
_WORD_SIGN = regex.compile(
    r"(?![\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}])[\p{L}\p{N}]"
)
"""A sign of a word in scripts with spaces between words."""
_HANGUL = regex.compile(r"\p{Hangul}")
"""A Korean particle follows its word without a space."""
SHARE = 0.55
"""Least attention of a target word inside a pair of tags on the source words inside it."""


def place_tags(
    lines: Sequence[SearchedLine], texts: Sequence[str], translator: LineTranslator, lexicon: Lexicon
) -> list[Markup]:
    """Return each translation with the tags of its line.

    Args:
        lines: the sentences.
        texts: their translations, without tags.
        translator: a translator of marked text if the lines are marked; without attention over the source,
            tags go to proportional places.
        lexicon: words that translate each other.
    """
    texts = [_without_gaps(line.unit, text) for line, text in zip(lines, texts, strict=True)]
    markups = [Markup.of(text) for text in texts]
    tagged = [number for number, line in enumerate(lines) if line.unit.tags]
    for start in range(0, len(tagged), BATCH):
        group = tagged[start : start + BATCH]
        weights = translator.word_weights(
            [lines[number] for number in group], [texts[number] for number in group], lexicon
        )
        for number, weight in zip(group, weights, strict=True):
            line, text = lines[number], texts[number]
            weight = weight or proportional(line.unit.text, text)
            markups[number] = with_tags(line.unit, text, anchor(weight, zones(text, line)))
    return markups


def _without_gaps(unit: SentenceUnit, text: str) -> str:
    """Return a translation without the two spaces that a single tag leaves between words."""
    gaps = any(_apart(unit.text, offset, width) for offset, _, width in unit.tags)
    return regex.sub("(?<=\\S) {2,}", " ", text) if gaps and text != unit.text else text


def with_tags(unit: SentenceUnit, text: str, weights: Weights) -> Markup:
    """Return a translation with the tags of its sentence.

    Args:
        unit: the sentence.
        text: its translation.
        weights: attention between their words.
    """
    if text == unit.text:  # a number or a name, copied
        return _source(unit)
    if not weights.rows or not weights.columns:
        weights = as_wholes(unit.text, text)
    nodes = _tree(unit)
    _place(nodes, unit, weights, 0, len(weights.rows))
    spaced = {
        tag for offset, tag, width in unit.tags if tag.kind == "alone" and _apart(unit.text, offset, width)
    }
    pieces: list[Piece] = []
    end, owed = 0, ""
    breaks = {tag for _, tag, width in unit.tags if width}
    for place, tag in _events(nodes, unit, text, weights):
        before = text[end : max(end, place)]
        end = max(end, place)
        if tag in breaks:  # the tag replaces a space
            end += text.startswith(" ", end) and not before.endswith(" ")
            before = before.removesuffix(" ")
        if before or tag.kind != "close":
            before, owed = f"{owed}{before}", ""
        pieces += [before, tag]
        if tag in spaced and text[end - 1 : end].isspace():
            owed = text[end - 1]  # behind the tags that close here too
    return _with_spaces(Markup.of(*pieces, owed, text[end:]), unit)


def _with_spaces(markup: Markup, unit: SentenceUnit) -> Markup:
    """Return a translation whose single tags touch the words and signs beside them as in the source."""
    pieces = list(markup.pieces)
    sides = {tag: _sides(unit, number) for number, (_, tag, width) in enumerate(unit.tags) if not width}
    for place, piece in enumerate(pieces):
        if isinstance(piece, str) or piece.kind != "alone" or piece not in sides:
            continue
        before, after = sides[piece]
        if place and before is not None and isinstance(left := pieces[place - 1], str):
            if _WORD_SIGN.search(left[-1]) and not before.isalnum():
                pieces[place - 1] = f"{left} "
            elif before.strip() and not before.isalnum() and left.rstrip().endswith(before):
                pieces[place - 1] = left.rstrip()
        if place + 1 < len(pieces) and after is not None and isinstance(right := pieces[place + 1], str):
            if _WORD_SIGN.search(right[0]) and not _HANGUL.search(right[0]) and not after.isalnum():
                pieces[place + 1] = f" {right}"
            elif after.strip() and not after.isalnum() and right.lstrip().startswith(after):
                pieces[place + 1] = right.lstrip()
    return Markup.of(*pieces)


def _sides(unit: SentenceUnit, number: int) -> tuple[str | None, str | None]:
    """Return the signs of the source on both sides of a tag; None if another tag is there, "" at an end."""
    offset = unit.tags[number].offset
    beside = [tag.offset for tag in unit.tags[max(0, number - 1) : number + 2]]
    tagged = number > 0 and beside[0] == offset, number + 1 < len(unit.tags) and beside[-1] == offset
    before, after = unit.text[offset - 1 : offset] if offset else "", unit.text[offset : offset + 1]
    return None if tagged[0] else before, None if tagged[1] else after


def _apart(text: str, offset: int, width: int) -> bool:
    """Return whether a tag has white space on both sides."""
    return not width and text[offset - 1 : offset].isspace() and text[offset : offset + 1].isspace()


def _source(unit: SentenceUnit) -> Markup:
    pieces: list[Piece] = []
    end = 0
    for offset, tag, width in unit.tags:
        pieces += [unit.text[end:offset], tag]
        end = offset + width
    return Markup.of(*pieces, unit.text[end:])


@dataclass
class _Node:
    """A pair of tags, a single tag, or half of a pair over several sentences.

    Attributes:
        start, end: range of source characters inside.
        first, last: range of target words inside.
    """

    start: int
    end: int
    opening: Tag | None = None
    closing: Tag | None = None
    alone: Tag | None = None
    inside: list["_Node"] = field(default_factory=list)
    first: int = 0
    last: int = 0

    def is_single(self, text: str) -> bool:
        """Return whether it is a single tag, or a pair without text inside, e.g. around code."""
        whole = self.opening is not None and self.closing is not None
        return self.alone is not None or (whole and not text[self.start : self.end].strip())


def _tree(unit: SentenceUnit) -> list[_Node]:
    """Return the tags of a sentence as a tree."""
    root = _Node(0, len(unit.text))
    stack = [root]
    for offset, tag, _ in unit.tags:
        if tag.kind == "alone":
            stack[-1].inside.append(_Node(offset, offset, alone=tag))
        elif tag.kind == "open":
            node = _Node(offset, len(unit.text), opening=tag)
            stack[-1].inside.append(node)
            stack.append(node)
        elif len(stack) > 1:
            stack[-1].end, stack[-1].closing = offset, tag
            stack.pop()
        else:  # opened in an earlier sentence: all nodes so far are inside
            root.inside = [_Node(0, offset, closing=tag, inside=root.inside)]
    return root.inside


def _place(nodes: list[_Node], unit: SentenceUnit, weights: Weights, low: int, high: int) -> None:
    """Choose the target words of each node among the words ``[low, high)``."""
    occupied = np.zeros(high - low, dtype=bool)
    pairs = [node for node in nodes if not node.is_single(unit.text)]
    gains = {id(node): _inside(node, weights)[low:high] - SHARE for node in pairs}
    # The surest pairs first; pairs share no words.
    for node in sorted(nodes, key=lambda node: -gains[id(node)].max(initial=-1) if id(node) in gains else 2):
        if id(node) in gains:
            first, last = _best_span(gains[id(node)], occupied)
            if node.closing is None:
                last = high - low
            if node.opening is None:
                first = 0
            occupied[first:last] = True
            node.first, node.last = low + first, low + last
            _place(node.inside, unit, weights, node.first, node.last)
            continue
        node.first = node.last = low + _division(node, weights, low, high)
        for other in pairs:
            if other.first < node.first < other.last:
                node.first = node.last = other.first if node.start <= other.start else other.last
        _place(node.inside, unit, weights, node.first, node.first)


def _inside(node: _Node, weights: Weights) -> Floats:
    """Return the share of each target word's attention on the source words inside a pair, (T,)."""
    start, end = np.array(weights.columns).T
    inside = np.maximum(np.minimum(node.end, end) - np.maximum(node.start, start), 0)
    return np.asarray(weights.matrix_TS @ (inside / np.maximum(end - start, 1)))


def _best_span(gains: Floats, occupied: np.ndarray) -> tuple[int, int]:
    """Return the run of free words with the largest sum of gains, of at least one word if any is free."""
    best, span = -np.inf, (0, 0)
    start, total = 0, 0.0
    for place, (gain, used) in enumerate(zip(gains, occupied, strict=True)):
        if used:
            start, total = place + 1, 0.0
            continue
        if total < 0:
            start, total = place, 0.0
        total += gain
        if total > best:
            best, span = total, (start, place + 1)
    return span


def _division(node: _Node, weights: Weights, low: int, high: int) -> int:
    """Return the number of these target words before a single tag."""
    before = (np.array(weights.columns)[:, 0] < node.start).astype(float)
    matrix = weights.matrix_TS[low:high]
    left, right = matrix @ before, matrix @ (1 - before)
    sums = np.concatenate([[0.0], np.cumsum(left)]) + np.concatenate([np.cumsum(right[::-1])[::-1], [0.0]])
    return int(np.argmax(sums))


def _events(nodes: list[_Node], unit: SentenceUnit, text: str, weights: Weights) -> list[tuple[int, Tag]]:
    """Return the tags in writing order, each with its place in the translation."""
    rows = weights.rows
    events: list[tuple[int, Tag]] = []
    for node in sorted(nodes, key=lambda node: (node.first, node.last)):
        at_start = rows[node.first].start if node.first < len(rows) else rows[-1].end
        at_end = rows[node.last - 1].end if node.last else 0
        if node.is_single(unit.text):
            follows = node.start > 0 and not unit.text[node.start - 1].isspace()
            apart = unit.text[node.end : node.end + 1].strip() == ""
            at_start = at_end = at_end if follows and apart else at_start
        elif node.first == node.last:
            at_end = at_start
        if node.alone:
            events.append((at_start, node.alone))
            continue
        events += [(at_start, node.opening)] if node.opening else []
        events += _events(node.inside, unit, text, weights)
        events += [(at_end, node.closing)] if node.closing else []
    return events
