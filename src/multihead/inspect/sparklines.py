"""Learning curves for the terminal, one line of block characters each."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from multihead.inspect.curves import PANELS, Event, points

BLOCKS = "▁▂▃▄▅▆▇█"


def terminal_curves(events: Iterable[Event], width: int = 80) -> str:
    """Return the loss and validation scores of a run as text, one line each.

    For example ``validation loss   5.62 █▆▄▃▂▂▁▁▁▁ 0.031``.

    Args:
        events: the run's events, from ``Run.metrics``.
        width: columns of the terminal.
    """
    events = list(events)
    names = {"training": "training loss", "validation": "validation loss"}
    lines = [line for panel in PANELS for line in panel.lines if line.label]
    rows = [
        (names.get(line.label, line.label), [value for _, value in points(events, line)]) for line in lines
    ]
    return "\n".join(_row(name, values, width) for name, values in rows if values)


def _row(name: str, values: Sequence[float], width: int) -> str:
    head, tail = f"{name:<16}{values[0]:>7.3g} ", f" {values[-1]:.3g}"
    return head + sparkline(values, width - len(head) - 8) + tail


def sparkline(values: Sequence[float], width: int) -> str:
    """Return at most ``width`` blocks from ▁ (lowest) to █ (highest); neighbouring values are averaged."""
    count = min(len(values), max(width, 1))
    edges = [i * len(values) // count for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(means), max(means)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((mean - low) * scale)] for mean in means)
