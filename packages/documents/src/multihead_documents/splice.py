"""Replacement of spans of a document; the rest is copied byte for byte."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import AnyStr, Generic, NamedTuple


class Span(NamedTuple):
    """A half-open interval of offsets, ``[start, end)``."""

    start: int
    end: int


class Edit(NamedTuple, Generic[AnyStr]):
    """Replacement of a span by new text and spans of the original.

    A nested edit applies where a part of the outer edit contains it.
    """

    span: Span
    parts: Sequence[AnyStr | Span]


def splice(original: AnyStr, edits: Iterable[Edit[AnyStr]]) -> AnyStr:
    """Apply edits, which are disjoint or nested."""
    # Insertions precede edits at the same offset, outer edits nested ones.
    ordered = sorted(
        edits, key=lambda edit: (edit.span.start, edit.span.start < edit.span.end, -edit.span.end)
    )
    starts = [edit.span.start for edit in ordered]
    result: list[AnyStr] = []

    def copy(span: Span, first: int) -> None:
        """Append a span of the original with the edits in it, from index ``first``."""
        place = span.start
        at = max(first, bisect_left(starts, span.start))
        while at < len(ordered) and starts[at] < span.end:
            edit = ordered[at]
            at += 1
            if edit.span.start < place or edit.span.end > span.end:
                continue
            result.append(original[place : edit.span.start])
            for part in edit.parts:
                if isinstance(part, Span):
                    copy(part, at)
                else:
                    result.append(part)
            place = edit.span.end
        result.append(original[place : span.end])

    copy(Span(0, len(original)), 0)
    return original[:0].join(result)
