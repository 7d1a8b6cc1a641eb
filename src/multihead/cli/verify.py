"""Check every file of a run or an export against its checksum.

    multihead verify runs/de-en
    multihead verify runs/de-en --write
    multihead verify student.firefox

A table shows the state of each file: whole, damaged, missing, without a
checksum (runs of version 0.1.0), or not covered: samples.txt, curves.svg and
report.html are for reading, and no result depends on them. A training keeps
an older state in case its newest is damaged; without it a run is whole.
Exit code: 0 if the run is whole, 1 if a file is damaged or missing (the
lines below the table say what to do), 2 if the folder is not
a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from multihead.apps.export import manifest as export_manifest
from multihead.cli import _console, _options
from multihead.cli._effect import refuse_options
from multihead.errors import UserError
from multihead.run import Run
from multihead.run.added_checksums import seal
from multihead.run.lock import Lock
from multihead.run.verify import UNCOVERED, UNSUMMED, WHOLE, FileState, verify
from multihead.system.imports import require
from multihead.system.terminal import escape_unprintable

DAMAGE = 1


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    run: _options.RunFolder
    """Run folder."""
    write: _options.Flag = False
    """Add checksums to a run of version 0.1.0, or accept text files that were changed on purpose."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    folder = Path(options.run)
    if (folder / export_manifest.NAME).exists():
        refuse_options(options, ("write",), "on an export")
        return _verify_export(folder)
    if options.write:
        require("torch", "`multihead verify --write`")
    rows = verify(folder)
    if options.write:
        try:
            with Run(folder, Lock(folder)) as run:
                seal(run)
        except UserError as error:
            _console.print_error(error)
            return DAMAGE
        rows = verify(folder)
    _print(rows)
    return DAMAGE if any(row.damaged for row in rows) else 0


def _verify_export(folder: Path) -> int:
    faults = export_manifest.faults(folder)
    table = Table.grid(padding=(0, 2))
    for name in export_manifest.read(folder)["files"]:
        table.add_row(escape_unprintable(name), faults.get(name, WHOLE))
    _console.output().print(table)
    if faults:
        _console.messages().print("Export the run again, or copy the folder again as a whole.")
    return DAMAGE if faults else 0


def _print(rows: Sequence[FileState]) -> None:
    table = Table.grid(padding=(0, 2))
    for row in sorted(rows, key=lambda row: row.state == UNCOVERED):
        table.add_row(escape_unprintable(row.file), row.state)
    _console.output().print(table)
    messages = _console.messages()
    for row in rows:
        if row.fact or row.remedy:
            named = not row.damaged or row.fact.startswith(row.state)
            fact = row.fact if named else f"{row.state}: {row.fact}".removesuffix(": ")
            messages.print(escape_unprintable(f"{row.file}: {fact}. {row.remedy}".strip()))
    if any(row.state == UNSUMMED for row in rows) and not any(row.damaged for row in rows):
        messages.print("Without checksums most damage cannot be seen; --write adds them.")
