"""A sweep's results as a table, and their agreement with published results."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from multihead.apps.studies.sweep.plan import Sweep
from multihead.apps.studies.sweep.running import MemberRow

Cells = dict[str, object]
"""Cells of a line by column name."""

REFERENCE = "reference "


def cells(rows: Sequence[MemberRow]) -> list[Cells]:
    """Return the lines of the table. Every line has every column, "" without a value."""
    lines = [_cells(row) for row in rows]
    columns = _columns(lines)
    return [{column: line.get(column, "") for column in columns} for line in lines]


def _cells(row: MemberRow) -> Cells:
    changed = {key: value for key, value in row.member.changed.items() if value != ""}
    reference = {f"{REFERENCE}{name}": value for name, value in row.member.reference.items()}
    result = dict(_flat(row.result))
    result.pop("recipe", None)
    return {
        "member": row.member.name,
        "state": row.state,
        **changed,
        **result,
        **reference,
        "error": row.error,
    }


def _columns(lines: Sequence[Cells]) -> list[str]:
    """Return all columns that are not empty, merged so that each line's own order is kept."""
    ordered: list[str] = []
    for line in lines:
        position = 0
        for column in line:
            if column in ordered:
                position = ordered.index(column) + 1
            else:
                ordered.insert(position, column)
                position += 1
    return [column for column in ordered if any(line.get(column, "") != "" for line in lines)]


def _flat(result: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for key, value in result.items():
        if isinstance(value, Mapping):
            yield from ((f"{key} {inner}", number) for inner, number in value.items())
        else:
            yield key, value


def to_csv(rows: Sequence[MemberRow]) -> str:
    """Return the table as CSV with a header line."""
    lines = cells(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def agreement(sweep: Sweep, rows: Sequence[MemberRow]) -> list[str]:
    """Return a sentence per reference metric: how many members change it in the reference's direction.

    Changes are relative to the base, ours on the first test set. Members without a change in the reference
    are left out.
    """
    base = next((row for row in rows if row.member.name == sweep.base), None)
    if base is None or base.state != "done":
        return []
    return [_agreement(name, base, rows) for name in base.member.reference]


def _agreement(score: str, base: MemberRow, rows: Sequence[MemberRow]) -> str:
    same: list[str] = []
    other: list[str] = []
    for row in rows:
        ours, theirs = _ours(score, row), row.member.reference.get(score)
        if row is base or ours is None or theirs is None or theirs == base.member.reference[score]:
            continue
        rises = theirs > base.member.reference[score]
        before = _ours(score, base)
        agrees = before is not None and ours != before and (ours > before) == rises
        (same if agrees else other).append(row.member.name)
    sentence = f"{score}: {len(same)} of {len(same) + len(other)} changes agree with the reference"
    return f"{sentence} (not {', '.join(other)})." if other else f"{sentence}."


def _ours(score: str, row: MemberRow) -> float | None:
    for value in row.result.values():
        if isinstance(value, Mapping):
            number: float | None = value.get(score)
            return number
    return None
