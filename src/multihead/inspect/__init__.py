"""Figures and pages of a run: its attention, its learning curves, reports and comparisons."""

from multihead.inspect.curves import draw_curves
from multihead.inspect.heatmap import heatmap
from multihead.inspect.sparklines import sparkline, terminal_curves
from multihead.tasks.translation.attention import Recording, inspect_sentence, record_sentence

__all__ = [
    "Recording",
    "draw_curves",
    "heatmap",
    "inspect_sentence",
    "record_sentence",
    "sparkline",
    "terminal_curves",
]
