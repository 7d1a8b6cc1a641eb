"""Figures and pages of a run: its attention, its learning curves, reports and comparisons."""
