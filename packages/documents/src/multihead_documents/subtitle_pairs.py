"""Training pairs from two subtitle files of one film, aligned by time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from multihead_documents import open_document
from multihead_documents.errors import DocumentError
from multihead_documents.markup import Markup
from multihead_documents.parallel import Pair
from multihead_documents.segment import Segment
from multihead_documents.subtitles.line_wrapping import separator

MAX_CUES = 3
"""Limit of subtitles per side of a pair."""

MAX_OVERLAPPING = 20
"""Limit of simultaneous subtitles."""

MIN_SHARE = 0.5
"""Fraction of the shorter file's subtitles that must be aligned."""


class _Cue(NamedTuple):
    start: float
    end: float
    text: str
    place: str


def subtitle_pairs(source: Path | str, target: Path | str) -> Iterator[Pair]:
    """Yield pairs of subtitles that are shown at the same time, as plain text.

    Two subtitles are aligned if they overlap for at least half of the shorter one's duration. Connected
    components of aligned subtitles form pairs.

    Raises:
        DocumentError: a file is missing or malformed; the times of the two do not agree.
    """
    left, right = _cues(source), _cues(target)
    groups = list(_groups(left, right))
    met = sum(len(rights if len(left) > len(right) else lefts) for lefts, rights in groups)
    shorter = min(len(left), len(right))
    if met < MIN_SHARE * shorter:
        fact = f"only {met} of {shorter} subtitles are shown at the time of one in {target}"
        raise DocumentError(
            fact, place=str(source), remedy="Are they of the same film and cut, and none shifted?"
        )
    for lefts, rights in groups:
        if len(lefts) <= MAX_CUES and len(rights) <= MAX_CUES:
            texts = (_text([left[i] for i in sorted(lefts)]), _text([right[j] for j in sorted(rights)]))
            yield Pair(Markup.of(texts[0]), Markup.of(texts[1]), left[min(lefts)].place)


def _cues(path: Path | str) -> list[_Cue]:
    """Return the subtitles in order of time; the lines of a dialogue are merged."""
    document = open_document(path)
    times: dict[tuple[float, float], list[Segment]] = {}
    for segment in document.segments:
        if segment.start is None or segment.end is None:
            raise DocumentError(
                "not a subtitle file", place=str(path), remedy="Subtitles are .srt, .vtt and .ass."
            )
        times.setdefault((segment.start, segment.end), []).append(segment)
    return [
        _Cue(start, end, " ".join(segment.source.text for segment in segments), segments[0].place)
        for (start, end), segments in sorted(times.items())
        if start < end
    ]


def _groups(left: Sequence[_Cue], right: Sequence[_Cue]) -> Iterator[tuple[set[int], set[int]]]:
    """Yield connected components of aligned subtitles."""
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
        for j in range(first, min(first + MAX_OVERLAPPING, len(right))):
            other = right[j]
            if other.start >= cue.end:
                break
            shared = min(cue.end, other.end) - max(cue.start, other.start)
            if 2 * shared >= min(cue.end - cue.start, other.end - other.start):
                yield i, j


def _text(cues: Sequence[_Cue]) -> str:
    text = ""
    for cue in cues:
        text += (separator(text, cue.text) if text else "") + cue.text
    return text
