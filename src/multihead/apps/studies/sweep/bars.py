"""Bar chart of the members' differences from the base: our results, and the reference below them."""

from collections.abc import Sequence
from statistics import median

from multihead.apps.studies.sweep.headlines import HeadlineScore, base_of
from multihead.apps.studies.sweep.plan import Sweep
from multihead.apps.studies.sweep.running import MemberRow
from multihead.inspect.report.markup import SafeHtml, tag
from multihead.inspect.report.words import say

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

    def legend(self) -> SafeHtml:
        """Return the legend as HTML."""
        scale = f"{self.longest:.1f}"
        keys = [("ours", say("this sweep"))]
        if self.reference:
            keys.append(("theirs", say("reference, relative to its own base")))
        return tag(
            "ul",
            [tag("li", tag("span", class_=f"chip {kind}"), text) for kind, text in keys],
            tag("li", say("scale: ±{}; longer bars are clipped" if self.clipped else "scale: ±{}", scale)),
            class_="legend",
        )

    def of(self, row: MemberRow) -> SafeHtml | None:
        """Return a member's bars as SVG."""
        ours, theirs = self._differences(row)
        if ours is None:
            return None
        return tag(
            "svg",
            self._bar(ours, "ours", 4, 9),
            self._bar(theirs or 0, "theirs", 15, 4),
            tag("path", class_="middle", d=f"M{WIDTH // 2} 0V{HEIGHT}"),
            width=WIDTH,
            height=HEIGHT,
            role="img",
            aria_label=f"{ours:+.2f}",
        )

    def _bar(self, difference: float, kind: str, y: int, height: int) -> SafeHtml:
        width = min(abs(difference) / self.longest, 1) * WIDTH / 2
        x = WIDTH / 2 - (width if difference < 0 else 0)
        return tag("rect", class_=kind, x=f"{x:.1f}", y=y, width=f"{width:.1f}", height=height)

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
