"""Measure the vanishing gradient of RNN, LSTM, GRU and attention.

    multihead gradients -o runs/gradients

Each layer learns to remember the first symbol of a sequence of noise. A table
shows how the gradient that reaches the symbol shrinks with its distance,
before and after training; gradients.svg draws it, gradients.json has all
numbers. No data are needed, and a few minutes of one core.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.table import Table

from multihead.apps.studies import gradients
from multihead.cli import _console, _options
from multihead.errors import UserError
from multihead.run import files
from multihead.run.environment import environment

LONGEST = 4096


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    output: Annotated[_options.Folder, _options.Option(aliases=("-o",))] = None
    """Folder for gradients.json and gradients.svg. (default: runs/gradients)"""
    longest: Annotated[int, _options.Option(metavar="DISTANCE")] = 128
    """Greatest distance, a power of 2; the others are the smaller powers."""
    seeds: Annotated[int, _options.Option(metavar="COUNT")] = 3
    """Number of trainings of each layer."""
    updates: Annotated[int, _options.Option(metavar="COUNT")] = 1000
    """Number of updates of each training."""
    width: Annotated[int, _options.Option(metavar="CHANNELS")] = 64
    """Width of every layer, a multiple of 8."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    for name in ("seeds", "updates", "width"):
        _options.at_least_one(name, getattr(options, name))
    if options.longest.bit_count() != 1 or not 2 <= options.longest <= LONGEST:
        fact = f"{options.longest} is not a power of 2 from 2 to {LONGEST:,}"
        raise UserError(fact, place="--longest", remedy="Give 128, for example.")
    if options.width % 8:
        raise UserError(f"{options.width} is not a multiple of 8", place="--width", remedy="Give 64.")
    distances = [1 << power for power in range(options.longest.bit_length())]
    folder = Path(options.output or "runs/gradients")
    files.make_folder(folder)
    console = _console.output()
    curves = []
    for curve in gradients.curves(options.seeds, distances, d=options.width, updates=options.updates):
        curves.append(curve)
        right = f"{100 * curve.right[-1]:.0f} % right at distance {distances[-1]}"
        console.print(f"{curve.layer}, seed {curve.seed}: {right}")
    conditions = {"updates": options.updates, "width": options.width, "environment": environment({})}
    text = json.dumps({**conditions, **gradients.as_json(curves, distances)}, indent=2)
    files.write_text(folder / "gradients.json", text + "\n")
    gradients.draw(curves, distances, folder / "gradients.svg")
    for moment in ("untrained", "trained"):
        console.print(f"\ngradient at the first symbol relative to distance 1, {moment}")
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for column in ("distance", *map(str, distances)):
            table.add_column(column, justify="left" if column == "distance" else "right", no_wrap=True)
        for name, values in gradients.means(curves, moment).items():
            table.add_row(name, *(f"{value:.2g}" for value in values))
        console.print(table, soft_wrap=False)
    console.print(f"\nplot: {folder / 'gradients.svg'}")
    return 0
