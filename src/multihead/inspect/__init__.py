"""Figures and pages of a run: its attention, its learning curves, reports and comparisons."""

from multihead.inspect.curves import draw_curves
from multihead.inspect.heatmap import heatmap
from multihead.inspect.sparklines import sparkline, terminal_curves

__all__ = [
    "draw_curves",
    "heatmap",
    "sparkline",
    "terminal_curves",
]
