"""Training pairs from two subtitle files of one film, aligned by their times."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from multihead.documents import open_document
from multihead.documents.line_wrapping import joint
from multihead.documents.markup import Markup
from multihead.documents.parallel import Pair
from multihead.documents.segment import Segment
from multihead.errors import UserError

MOST_CUES = 3
"""A pair is made of at most so many subtitles a side."""

MOST_AT_ONCE = 20
"""Subtitles that overlap one another."""

LEAST_SHARE = 0.5
"""Of the shorter file's subtitles must meet one of the other's; else the films or their cuts differ."""


class _Cue(NamedTuple):
    start: float
    end: float
    text: str
    place: str


def subtitle_pairs(source: Path | str, target: Path | str) -> Iterator[Pair]:
    """Yield pairs of subtitles that are shown at the same time, without their tags.

    Two subtitles meet if the time they share is at least half of the shorter one; those that are connected
    by meeting one another form a pair.

    Raises:
        UserError: a file is missing or malformed; the times of the two do not agree.
    """
    left, right = _cues(source), _cues(target)
    groups = list(_groups(left, right))
    met = sum(len(rights if len(left) > len(right) else lefts) for lefts, rights in groups)
    shorter = min(len(left), len(right))
    if met < LEAST_SHARE * shorter:
        fact = f"only {met} of {shorter} subtitles are shown at the time of one in {target}"
        raise UserError(
            fact, place=str(source), remedy="Are they of the same film and cut, and none shifted?"
        )
    for lefts, rights in groups:
        if len(lefts) <= MOST_CUES and len(rights) <= MOST_CUES:
            texts = (_text([left[i] for i in sorted(lefts)]), _text([right[j] for j in sorted(rights)]))
            yield Pair(Markup.of(texts[0]), Markup.of(texts[1]), left[min(lefts)].place)


def _cues(path: Path | str) -> list[_Cue]:
    """Return the subtitles by their time; speakers of one dialogue are one subtitle again."""
    document = open_document(path)
    times: dict[tuple[float, float], list[Segment]] = {}
    for segment in document.segments:
        if segment.start is None or segment.end is None:
            raise UserError("not a subtitle file", place=str(path), remedy="Subtitles are .srt and .vtt.")
        times.setdefault((segment.start, segment.end), []).append(segment)
    return [
        _Cue(start, end, " ".join(segment.source.text for segment in segments), segments[0].place)
        for (start, end), segments in sorted(times.items())
        if start < end
    ]


def _groups(left: Sequence[_Cue], right: Sequence[_Cue]) -> Iterator[tuple[set[int], set[int]]]:
    """Yield the sets of subtitles that are connected by meeting."""
    lefts: set[int] = set()
    rights: set[int] = set()
    for i, j in _meetings(left, right):
        if lefts and i not in lefts and j not in rights:
            yield lefts, rights
            lefts, rights = set(), set()
        lefts.add(i)
        rights.add(j)
    if lefts:
        yield lefts, rights


def _meetings(left: Sequence[_Cue], right: Sequence[_Cue]) -> Iterator[tuple[int, int]]:
    first = 0
    for i, cue in enumerate(left):
        while first < len(right) and right[first].end <= cue.start:
            first += 1
        for j in range(first, min(first + MOST_AT_ONCE, len(right))):
            other = right[j]
            if other.start >= cue.end:
                break
            shared = min(cue.end, other.end) - max(cue.start, other.start)
            if 2 * shared >= min(cue.end - cue.start, other.end - other.start):
                yield i, j


def _text(cues: Sequence[_Cue]) -> str:
    text = ""
    for cue in cues:
        text += (joint(text, cue.text) if text else "") + cue.text
    return text
