"""How far members are from the base, as bars around a line: ours, and below them the reference's."""

from collections.abc import Sequence
from statistics import median

from multihead.workflows.sweep.headlines import Score, base_of
from multihead.workflows.sweep.plan import Sweep
from multihead.workflows.sweep.running import Row

WIDTH, HEIGHT = 150, 22  # in pixels
CUT = 4
"""Bars longer than this many times the middle one are cut off, so that the others can be told apart."""


class Bars:
    """Bars of one score, all in one scale. Without a base that is done there are none."""

    def __init__(self, score: Score, sweep: Sweep, rows: Sequence[Row]) -> None:
        self.score, self.base = score, base_of(sweep, rows)
        found = [abs(distance) for row in rows for distance in self._distances(row) if distance]
        self.longest = min(max(found, default=1.0), CUT * median(found or [1.0]))
        self.cut = any(distance > self.longest for distance in found)
        self.reference = any(self._distances(row)[1] for row in rows)

    def legend(self) -> str:
        """Return what the bars mean, as HTML."""
        cut = "; longer ones are cut off" if self.cut else ""
        keys = '<span class="key ours"></span>here'
        if self.reference:
            keys += '<span class="key theirs"></span>the reference, from its own base'
        return f'<p class="legend">Bars reach {self.longest:.1f} to either side{cut}.{keys}</p>\n'

    def of(self, row: Row) -> str:
        """Return a member's, as SVG."""
        ours, theirs = self._distances(row)
        if ours is None:
            return ""
        return (
            f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{ours:+.2f}">'
            f"{self._bar(ours, 'ours', 4, 9)}{self._bar(theirs or 0, 'theirs', 15, 4)}"
            f'<path class="middle" d="M{WIDTH // 2} 0V{HEIGHT}"/></svg>'
        )

    def _bar(self, distance: float, kind: str, y: int, height: int) -> str:
        width = min(abs(distance) / self.longest, 1) * WIDTH / 2
        x = WIDTH / 2 - (width if distance < 0 else 0)
        return f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"/>'

    def _distances(self, row: Row) -> tuple[float | None, float | None]:
        """Return how far a member is from the base, and its reference from the base's."""
        if self.base is None or self.score.of(row) is None:
            return None, None
        metric = self.score.metric
        ours = self.score.of(row), self.score.of(self.base)
        theirs = row.member.reference.get(metric), self.base.member.reference.get(metric)
        return _difference(*ours), _difference(*theirs)


def _difference(value: float | None, before: float | None) -> float | None:
    return None if value is None or before is None else value - before
