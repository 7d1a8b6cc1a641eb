"""Bar chart of the members' differences from the base: our results, and the reference below them."""

from collections.abc import Sequence
from statistics import median

from multihead.apps.studies.sweep.headlines import HeadlineScore, base_of
from multihead.apps.studies.sweep.plan import Sweep
from multihead.apps.studies.sweep.running import MemberRow

WIDTH, HEIGHT = 150, 22  # in pixels
CLIP = 4
"""Bars longer than this many times the median are clipped, so that the others remain readable."""


class Bars:
    """Bars of one score on a common scale. Without a finished base there are none."""

    def __init__(self, score: HeadlineScore, sweep: Sweep, rows: Sequence[MemberRow]) -> None:
        self.score, self.base = score, base_of(sweep, rows)
        lengths = [abs(difference) for row in rows for difference in self._differences(row) if difference]
        self.longest = min(max(lengths, default=1.0), CLIP * median(lengths or [1.0]))
        self.clipped = any(length > self.longest for length in lengths)
        self.reference = any(self._differences(row)[1] for row in rows)

    def legend(self) -> str:
        """Return the legend as HTML."""
        clipped = "; longer bars are clipped" if self.clipped else ""
        keys = '<span class="key ours"></span>this sweep'
        if self.reference:
            keys += '<span class="key theirs"></span>reference, relative to its own base'
        return f'<p class="legend">The scale is ±{self.longest:.1f}{clipped}.{keys}</p>\n'

    def of(self, row: MemberRow) -> str:
        """Return a member's bars as SVG."""
        ours, theirs = self._differences(row)
        if ours is None:
            return ""
        return (
            f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{ours:+.2f}">'
            f"{self._bar(ours, 'ours', 4, 9)}{self._bar(theirs or 0, 'theirs', 15, 4)}"
            f'<path class="middle" d="M{WIDTH // 2} 0V{HEIGHT}"/></svg>'
        )

    def _bar(self, difference: float, kind: str, y: int, height: int) -> str:
        width = min(abs(difference) / self.longest, 1) * WIDTH / 2
        x = WIDTH / 2 - (width if difference < 0 else 0)
        return f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"/>'

    def _differences(self, row: MemberRow) -> tuple[float | None, float | None]:
        """Return a member's difference from the base, and its reference's from the base's reference."""
        if self.base is None or self.score.of(row) is None:
            return None, None
        metric = self.score.metric
        ours = self.score.of(row), self.score.of(self.base)
        theirs = row.member.reference.get(metric), self.base.member.reference.get(metric)
        return _difference(*ours), _difference(*theirs)


def _difference(value: float | None, before: float | None) -> float | None:
    return None if value is None or before is None else value - before
