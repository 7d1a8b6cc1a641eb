"""Learning curves of a run, from the events of its metrics.jsonl."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import EngFormatter, MaxNLocator

from multihead.inspect import figures
from multihead.inspect.figures import BLUE, FAINT, GREEN, ORANGE

Event = Mapping[str, Any]
Points = list[tuple[int, float]]
"""(update, value)"""


@dataclass(frozen=True, slots=True)
class CurveLine:
    """One metric of a learning curve.

    Attributes:
        event: kind of event that logs it, "update" or "validation".
        keys: its possible names in the event; the first that occurs is used.
        label: its name in the legend.
        colour: colour of the line.
        best: value to mark, "lowest", "highest" or "" for none.
    """

    event: str
    keys: tuple[str, ...]
    label: str = ""
    colour: str = ""
    best: str = ""


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """Metrics that share an axis."""

    title: str
    lines: tuple[CurveLine, ...]
    from_zero: bool = True


PANELS = (
    CurvePanel(
        "loss (nats)",
        (
            # Neither includes label smoothing, so the two are comparable.
            CurveLine("update", ("nll", "loss"), "training", BLUE),
            CurveLine("validation", ("loss",), "validation", ORANGE, best="lowest"),
        ),
        from_zero=False,
    ),
    CurvePanel(
        "validation score",
        (
            CurveLine("validation", ("bleu",), "BLEU", ORANGE, best="highest"),
            CurveLine("validation", ("chrf",), "chrF", GREEN, best="highest"),
        ),
    ),
    CurvePanel("learning rate", (CurveLine("update", ("rate",), "", BLUE),)),
)


def points(events: Iterable[Event], line: CurveLine) -> Points:
    """Return the finite values of a metric, in the order of the updates."""
    matching = [event for event in events if event.get("event") == line.event]
    key = next((key for key in line.keys if any(key in event for event in matching)), line.keys[0])
    values = [(int(event["step"]), event.get(key)) for event in matching]
    return sorted(
        (step, float(value)) for step, value in values if value is not None and math.isfinite(value)
    )


def draw_curves(events: Iterable[Event], path: str | Path) -> None:
    """Draw the learning curves of a run. The same events give the same file, byte for byte.

    Loss, validation scores and learning rate have a panel each if the events contain them.

    Args:
        events: the run's events, from ``Run.metrics``.
        path: output file, ending in .svg, .png or .pdf.

    Raises:
        UserError: an unsupported file extension, or the file cannot be written.
    """
    events = list(events)
    panels = [(panel, [points(events, line) for line in panel.lines]) for panel in PANELS]
    panels = [(panel, lines) for panel, lines in panels if any(lines)]
    last = max((step for _, lines in panels for line in lines for step, _ in line), default=1)
    with figures.style():
        figure = Figure(
            figsize=(3.6 * max(len(panels), 1), 2.7),
            facecolor="white",
            layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12),
        )
        for position, (panel, lines) in enumerate(panels, start=1):
            axes = figure.add_subplot(1, len(panels), position)
            axes.set_xlim(0, 1.02 * last)
            _draw(axes, panel, lines)
        if not panels:
            figure.text(0.5, 0.5, "no metrics yet", ha="center", color=FAINT)
        figures.save(figure, path)


def _draw(axes: Axes, panel: CurvePanel, lines: Sequence[Points]) -> None:
    axes.set_title(panel.title, loc="left", fontsize=10, pad=10)
    axes.set_xlabel("updates")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(visible=False, axis="x")
    axes.tick_params(length=0)
    for line, curve in zip(panel.lines, lines, strict=True):
        if curve:
            steps, values = zip(*curve, strict=True)
            # A line through a single point would be invisible.
            axes.plot(
                steps, values, color=line.colour, label=line.label, marker="o" if len(curve) == 1 else ""
            )
            if line.best:
                _mark(axes, line, curve, [other for other in lines if other is not curve])
    if panel.from_zero:
        axes.set_ylim(bottom=0)
    else:
        axes.margins(y=0.15)  # room for the label below the lowest point
    if any(line.label for line in panel.lines):
        axes.legend(fontsize=8, labelcolor="linecolor", handlelength=1.2)


def _mark(axes: Axes, line: CurveLine, curve: Points, others: Sequence[Points]) -> None:
    """Label the best value: above a maximum, below a minimum unless another line runs there."""
    step, value = (min if line.best == "lowest" else max)(curve, key=lambda point: point[1])
    nearest = [min(other, key=lambda point: abs(point[0] - step))[1] for other in others if other]
    below = line.best == "lowest" and all(other > value for other in nearest)
    axes.plot(step, value, "o", color=line.colour)
    axes.annotate(
        f"{value:#.3g}",
        (step, value),
        xytext=(0, -7 if below else 7),
        textcoords="offset points",
        ha="right",
        va="top" if below else "bottom",
        color=line.colour,
        fontsize=8,
    )
