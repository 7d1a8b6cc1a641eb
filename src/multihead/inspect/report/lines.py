"""Line charts as SVG. Colours come from the style sheet, so that charts follow the light or dark theme."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.ticker import EngFormatter, MaxNLocator

from multihead.inspect.report.markup import SafeHtml, tag
from multihead.inspect.report.words import both

WIDTH, HEIGHT = 520, 270
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 12, 52
MAX_POINTS = 300
"""Maximum number of points per line; longer series are thinned out."""
COLOURS = 8
"""Number of line colours in the style sheet; further lines reuse them, dashed, then dotted."""
DASHES = ("", " dashed", " dotted")

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart.

    Attributes:
        label: name in the legend.
        points: (x, y), ascending in x.
        number: index of the colour, from 0.
        hollow: indices of unreliable points, drawn as rings.
        notes: text of each point's tooltip, after its value.
        markers: draw a marker at each point.
        thin: a thin line, one of several of its colour.
    """

    label: str
    points: Points
    number: int = 0
    hollow: frozenset[int] = frozenset()
    notes: Sequence[str] = ()
    markers: bool = True
    thin: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """Linear map from values to coordinates."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def line_chart(
    name: str,
    series: Sequence[Series],
    *,
    x_label: str,
    x_ticks: Sequence[tuple[float, str, str]] = (),
    from_zero: bool = False,
) -> SafeHtml:
    """Return a line chart, or nothing if no series has a point.

    Args:
        name: accessible name for screen readers.
        series: the lines.
        x_label: label of the horizontal axis.
        x_ticks: (value, label, second line of the label); default: round numbers.
        from_zero: start the vertical axis at 0.
    """
    lines = [replace(one, points=_thin(one.points)) for one in series]
    xs = [x for line in lines for x, _ in line.points] + [x for x, _, _ in x_ticks]
    ys = [y for line in lines for _, y in line.points]
    if not ys:
        return SafeHtml()
    constant = min(ys) == max(ys)  # any range around a single value would be arbitrary
    ticks_y = ticks(min(0.0, min(ys)) if from_zero or constant else min(ys), max(ys))
    y = Scale(ticks_y[0], ticks_y[-1], HEIGHT - BOTTOM, TOP)
    if x_ticks:
        x = Scale(min(xs) - 0.5, max(xs) + 0.5, LEFT, WIDTH - RIGHT)
        labels = list(x_ticks)
    else:
        x = Scale(0, max(xs) or 1, LEFT, WIDTH - RIGHT)
        form = EngFormatter(sep="")
        labels = [(at, form(at), "") for at in ticks(0, max(xs) or 1) if at <= max(xs)]
    return tag(
        "svg",
        [_rule(at, y(at)) for at in ticks_y],
        [_tick(x(at), label, second) for at, label, second in labels],
        tag("text", x_label, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 4, text_anchor="middle", class_="axis"),
        [_line(line, x, y) for line in lines if line.points],
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        class_="chart",
        role="img",
        aria_label=name,
    )


def ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers that span a range."""
    if high <= low:
        high = low + (abs(low) or 1)
    return [float(value) for value in MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)]


def _thin(points: Points) -> Points:
    finite = [(x, y) for x, y in points if math.isfinite(y)]
    stride = math.ceil(len(finite) / MAX_POINTS)
    # The last point is the current value and always stays.
    return finite if stride <= 1 else [*finite[:-1:stride], finite[-1]]


def _rule(value: float, y: float) -> SafeHtml:
    return tag(
        "g",
        tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y),
        tag("text", f"{value:g}", x=LEFT - 7, y=y + 4, text_anchor="end"),
        class_="rule",
    )


def _tick(x: float, label: str, second: str) -> SafeHtml:
    return tag(
        "g",
        tag("text", label, x=x, y=HEIGHT - BOTTOM + 15, text_anchor="middle"),
        tag("text", second, x=x, y=HEIGHT - BOTTOM + 27, text_anchor="middle", class_="faint")
        if second
        else None,
        class_="tick",
    )


def _line(series: Series, x: Scale, y: Scale) -> SafeHtml:
    points = [(x(a), y(b)) for a, b in series.points]
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
    return tag(
        "g",
        tag("title", series.label),
        tag("path", d=path) if len(points) > 1 else None,
        [_marker(series, i, point) for i, point in enumerate(points)]
        if series.markers or len(points) == 1
        else None,
        class_=colour(series.number) + (" thin" if series.thin else ""),
    )


def _marker(series: Series, i: int, point: tuple[float, float]) -> SafeHtml:
    note = both(series.label) + f": {series.points[i][1]:.4g}"
    if series.notes:
        note = note + ", " + series.notes[i]
    return tag(
        "circle",
        tag("title", note),
        cx=point[0],
        cy=point[1],
        r=3.5,
        class_="hollow" if i in series.hollow else None,
    )


def colour(number: int) -> str:
    """Return the CSS class of the n-th line colour, from 0."""
    return f"s{number % COLOURS}{DASHES[number // COLOURS % len(DASHES)]}"


def legend(labels: Sequence[str]) -> SafeHtml:
    """Return a legend: one entry per line colour."""
    entries = (
        tag("li", tag("i", class_=f"chip {colour(number)}"), label) for number, label in enumerate(labels)
    )
    return tag("ul", entries, class_="legend")
