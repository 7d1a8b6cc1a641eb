"""Train a series of models and compare them in one table.

    multihead sweep ladder --data.dir data/multi30k
    multihead sweep my.toml --jobs 2

A sweep is a TOML file with a recipe and a list or grid of changes to it.
Without a name the command lists the built-in sweeps. The same command resumes
an interrupted sweep. The sweep `long` also measures the time and memory of
each kind of attention, into cost.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.table import Table

from multihead.apps.studies.attention_cost import TABLE, measure_all
from multihead.apps.studies.sweep import (
    COLUMNS,
    MemberRow,
    Sweep,
    agreement,
    begun_runs,
    changes_over_seeds,
    draw,
    explanation,
    members_named,
    read_sweep,
    run_sweep,
    scores,
    statistics,
    to_csv,
    to_html,
    to_json,
)
from multihead.cli import INTERRUPTED, _console, _options
from multihead.errors import UserError
from multihead.recipe import SECTION_NAMES
from multihead.recipe.built_in import sweeps
from multihead.run.files import write_text
from multihead.system.part import parse_part, part_of

FAILED = 1
EVERY = "*"
PLOT, CHANGES = "plot.svg", "changes.json"


@dataclass(frozen=True)
class Options:
    """Options of the command besides recipe keys, which apply to all members of the sweep."""

    sweep: Annotated[_options.Name, _options.Option(metavar="[SWEEP]")] = None
    """Built-in sweep or TOML file."""
    folder: _options.Folder = None
    """Folder for the runs and the table. (default: runs/SWEEP)"""
    jobs: int = 1
    """Number of concurrent trainings, which share the cores."""
    part: Annotated[str, _options.Option(metavar="I/N")] = "1/1"
    """Train every N-th member from the I-th on, for an array of jobs with one folder."""
    only: Annotated[str, _options.Option(metavar="PATTERN")] = EVERY
    """Train only members with such names, as 'listops-*'."""
    costs_only: _options.Flag = False
    """Only measure the time and memory of attention (sweep `long`), without training."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, keys = _options.read_with_keys(Options, arguments, sections=SECTION_NAMES)
    console = _console.output()
    if options.sweep is None:
        _list(console)
        return 0
    _options.at_least_one("jobs", options.jobs)
    sweep = read_sweep(options.sweep, keys, options.only)
    folder = Path(options.folder or f"runs/{sweep.name}")
    if options.costs_only and not sweep.lengths:
        raise UserError("this sweep has no [cost]", place="--costs-only", remedy="Leave it out.")
    members = [] if options.costs_only else members_named(sweep, options.only)
    if not members and not options.costs_only:
        raise UserError(f"no member is named like {options.only!r}", place="--only", remedy=_like(sweep))
    console.print(f"{sweep.name}: {len(members)} trainings in {folder}")
    part = parse_part(options.part)
    if options.costs_only or (sweep.lengths and part[0] == 1 and options.only == EVERY):
        measure_all(folder, sweep.lengths, console.print)
        console.print(f"time and memory of attention: {folder / TABLE}")
    if options.costs_only:
        return 0
    reporter = _Reporter(sweep, folder, console)
    rows = run_sweep(sweep, folder, reporter, jobs=options.jobs, part=part, only=options.only)
    _write(sweep, rows, folder)
    _show(sweep, rows, console)
    console.print(f"all numbers: {folder / 'table.csv'}, {folder / 'table.html'}")
    if (folder / CHANGES).exists():
        console.print(f"means over seeds: {folder / CHANGES}")
    if (folder / PLOT).exists():
        console.print(f"plot: {folder / PLOT}")
    states = {row.state for row in part_of([row for row in rows if row.member in members], *part)}
    return FAILED if "failed" in states else 0 if states == {"done"} else INTERRUPTED


def _like(sweep: Sweep) -> str:
    return f"Give a pattern of {sweep.members[0].name} and the others: '{sweep.members[0].name[:3]}*'."


def _list(console: Console) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for name, about in sweeps.describe().items():
        table.add_row(name, about)
    console.print(table, soft_wrap=False)


def _write(sweep: Sweep, rows: Sequence[MemberRow], folder: Path) -> None:
    write_text(folder / "table.csv", to_csv(rows))
    _write_page(sweep, rows, folder)
    if changes_over_seeds(sweep, rows):
        write_text(folder / CHANGES, to_json(sweep, rows))
    draw(sweep, rows, folder / PLOT)


def _write_page(sweep: Sweep, rows: Sequence[MemberRow], folder: Path) -> None:
    write_text(folder / "table.html", to_html(sweep, rows, begun_runs(rows, folder)))


class _Reporter:
    """Prints a line and updates the table whenever a member starts or ends; renews the page meanwhile."""

    def __init__(self, sweep: Sweep, folder: Path, console: Console) -> None:
        self.sweep, self.folder, self.console = sweep, folder, console

    def on_change(self, row: MemberRow, rows: Sequence[MemberRow]) -> None:
        _write(self.sweep, rows, self.folder)
        detail = f": {row.error}" if row.error else ""
        if row.state == "done":
            detail = f", {row.result['minutes']:.1f} minutes of training"
        self.console.print(f"{row.member.name}: {row.state}{detail}")

    def on_progress(self, rows: Sequence[MemberRow]) -> None:
        _write_page(self.sweep, rows, self.folder)


def _show(sweep: Sweep, rows: Sequence[MemberRow], console: Console) -> None:
    all_scores = scores(rows)
    first = [score for score in all_scores if score.test == all_scores[0].test]
    others = list(dict.fromkeys(score.test for score in all_scores if score not in first))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in ("member", "parameters", "minutes", *(score.metric for score in first)):
        table.add_column(column, justify="left" if column == "member" else "right", no_wrap=True)
    for row in rows:
        if row.state != "done":
            table.add_row(row.member.name, row.state)
            continue
        numbers = (score.of(row) for score in first)
        table.add_row(
            row.member.name,
            f"{row.result['parameters']:,}",
            f"{row.result['minutes']:.1f}",
            *("" if number is None else f"{number:.2f}" for number in numbers),
        )
    console.print()
    if all_scores:
        rest = f" (not shown here: {', '.join(others)})" if others else ""
        console.print(f"{all_scores[0].test or 'validation set'}{rest}")
    console.print(table, soft_wrap=False)
    _show_over_seeds(sweep, rows, console)
    for sentence in agreement(sweep, rows):
        console.print(sentence)


def _show_over_seeds(sweep: Sweep, rows: Sequence[MemberRow], console: Console) -> None:
    """Print the main score of each change over its seeds, unless all have one."""
    changes = changes_over_seeds(sweep, rows)
    if not changes or not (all_scores := scores(rows)):
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("change", overflow="fold")
    for column in ("seeds", f"{all_scores[0].metric}, {COLUMNS[0]}", *COLUMNS[1:]):
        table.add_column(column, justify="right", no_wrap=True)
    for change in changes:
        result = statistics(all_scores[0], change, changes)
        table.add_row(change.name, str(len(change.rows)), *(result.cells() if result else ()))
    console.print()
    console.print(table, soft_wrap=False)
    console.print(explanation(changes), soft_wrap=False)
