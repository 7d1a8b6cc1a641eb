"""Sweeps: training runs that differ in a few settings, and a table of their results."""

from multihead.workflows.sweep.headlines import scores
from multihead.workflows.sweep.page import to_html
from multihead.workflows.sweep.plan import Member, Plot, Sweep, read
from multihead.workflows.sweep.plot import draw
from multihead.workflows.sweep.running import MemberRow, SweepObserver, members_named, run_sweep
from multihead.workflows.sweep.table import agreement, to_csv

__all__ = [
    "Member",
    "MemberRow",
    "Plot",
    "Sweep",
    "SweepObserver",
    "agreement",
    "draw",
    "members_named",
    "read",
    "run_sweep",
    "scores",
    "to_csv",
    "to_html",
]
