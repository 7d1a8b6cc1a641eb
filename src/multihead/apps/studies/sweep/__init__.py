"""Sweeps: training runs that differ in a few settings, and a table of their results."""

from multihead.apps.studies.sweep.headlines import scores
from multihead.apps.studies.sweep.over_seeds import (
    COLUMNS,
    changes_over_seeds,
    explanation,
    statistics,
    to_json,
)
from multihead.apps.studies.sweep.page import to_html
from multihead.apps.studies.sweep.plan import Member, Plot, Sweep, read_sweep
from multihead.apps.studies.sweep.plot import draw
from multihead.apps.studies.sweep.running import (
    MemberRow,
    SweepObserver,
    begun_runs,
    members_named,
    run_sweep,
)
from multihead.apps.studies.sweep.table import agreement, to_csv

__all__ = [
    "COLUMNS",
    "Member",
    "MemberRow",
    "Plot",
    "Sweep",
    "SweepObserver",
    "agreement",
    "begun_runs",
    "changes_over_seeds",
    "draw",
    "explanation",
    "members_named",
    "read_sweep",
    "run_sweep",
    "scores",
    "statistics",
    "to_csv",
    "to_html",
    "to_json",
]
