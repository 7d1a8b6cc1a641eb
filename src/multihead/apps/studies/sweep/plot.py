"""Plot of a sweep: a score over a setting, with a line for each value of another setting."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from multihead.apps.studies.sweep.headlines import HeadlineScore, scores
from multihead.apps.studies.sweep.plan import Member, Plot, Sweep
from multihead.apps.studies.sweep.running import MemberRow
from multihead.inspect import figures
from multihead.inspect.figures import BLUE, GREEN, INK, ORANGE

COLOURS = (BLUE, ORANGE, GREEN, INK, "#cc79a7", "#e69f00", "#56b4e9")
"""Colours of the lines (Okabe and Ito 2008), repeated after the last."""

Lines = dict[str, dict[float, list[float]]]
"""Scores by series, then by x; several if members differ in another setting, such as the seed."""


def plotted_lines(plot: Plot, rows: Sequence[MemberRow]) -> tuple[HeadlineScore | None, Lines]:
    """Return the plotted score and its values; (None, {}) while no member has it.

    Args:
        plot: the axes.
        rows: the members; members without a result are left out.
    """
    score = next((candidate for candidate in scores(rows) if candidate.metric == plot.y), None)
    lines: Lines = defaultdict(lambda: defaultdict(list))
    for row in rows:
        value = None if score is None else score.of(row)
        if value is not None:
            lines[_series(plot, row.member)][float(str(setting(row.member, plot.x)))].append(value)
    return score, {series: dict(sorted(points.items())) for series, points in lines.items()}


def setting(member: Member, key: str) -> object:
    """Return a member's value of a setting."""
    return member.changed[key] if key in member.changed else member.recipe.values()[key]


def draw(sweep: Sweep, rows: Sequence[MemberRow], path: Path) -> bool:
    """Draw a sweep's plot; return False, and draw nothing, while there is nothing to draw.

    Points are means over the members with the same x and series, bars their range.

    Raises:
        UserError: the file cannot be written.
    """
    if sweep.plot is None:
        return False
    score, lines = plotted_lines(sweep.plot, rows)
    if score is None or not lines:
        return False
    xs = sorted({x for points in lines.values() for x in points})
    with figures.style():
        figure = Figure(figsize=(5.6, 3.6), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        for number, (series, points) in enumerate(lines.items()):
            means = [sum(values) / len(values) for values in points.values()]
            below = [mean - min(values) for mean, values in zip(means, points.values(), strict=True)]
            above = [max(values) - mean for mean, values in zip(means, points.values(), strict=True)]
            axes.errorbar(
                [*points],
                means,
                yerr=[below, above],
                marker="o",
                capsize=2,
                color=COLOURS[number % len(COLOURS)],
                label=series or sweep.name,
            )
        if sweep.plot.log:
            axes.set_xscale("log")
        axes.set_xticks(xs, [f"{x:,g}" for x in xs])
        axes.minorticks_off()
        axes.set_title(f"{score.metric}, {score.test or 'validation'}".replace("_", " "), loc="left")
        axes.set_xlabel(sweep.plot.x.rpartition(".")[2].replace("_", " "))
        axes.legend()
        figures.save(figure, path)
    return True


def _series(plot: Plot, member: Member) -> str:
    if not plot.series:
        return ""
    return f"{plot.series.rpartition('.')[2].replace('_', ' ')} {setting(member, plot.series)}"
