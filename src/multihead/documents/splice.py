"""Replacement of parts of a document, everything else left byte for byte as it is."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import AnyStr, Generic, NamedTuple


class Span(NamedTuple):
    """A part of the original, from ``start`` up to ``end``."""

    start: int
    end: int


class Edit(NamedTuple, Generic[AnyStr]):
    """A span, and the parts that replace it: new text, or spans of the original.

    An edit inside another edit takes effect where one of the outer edit's parts contains it.
    """

    span: Span
    parts: Sequence[AnyStr | Span]


def spliced(original: AnyStr, edits: Iterable[Edit[AnyStr]]) -> AnyStr:
    """Return the original with the edits made. Edits are nested or disjoint, never partly overlapping."""
    # Insertions come before the edit that begins at their place, an outer edit before those inside it.
    ordered = sorted(
        edits, key=lambda edit: (edit.span.start, edit.span.start < edit.span.end, -edit.span.end)
    )
    starts = [edit.span.start for edit in ordered]
    result: list[AnyStr] = []

    def copy(span: Span, first: int) -> None:
        """Append a span of the original, with the edits in it from the one numbered ``first``."""
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
