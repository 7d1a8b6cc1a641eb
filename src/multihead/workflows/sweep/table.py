"""A sweep's results as one table, and which directions agree with somebody else's."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from multihead.workflows.sweep.plan import Sweep
from multihead.workflows.sweep.running import Row

Cells = dict[str, object]
"""By the name of the column."""

REFERENCE = "reference "


def cells(rows: Sequence[Row]) -> list[Cells]:
    """Return each row by column; every row has every column, "" where there is nothing to tell."""
    told = [_cells(row) for row in rows]
    columns = _columns(told)
    return [{column: one.get(column, "") for column in columns} for one in told]


def _cells(row: Row) -> Cells:
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


def _columns(told: Sequence[Cells]) -> list[str]:
    """All columns; those of a row that has more than the others stand where it has them."""
    ordered: list[str] = []
    for one in told:
        place = 0
        for column in one:
            if column in ordered:
                place = ordered.index(column) + 1
            else:
                ordered.insert(place, column)
                place += 1
    # What nobody has anything to tell of is left out.
    return [column for column in ordered if any(one.get(column, "") != "" for one in told)]


def _flat(result: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for key, value in result.items():
        if isinstance(value, Mapping):
            yield from ((f"{key} {inner}", number) for inner, number in value.items())
        else:
            yield key, value


def to_csv(rows: Sequence[Row]) -> str:
    """Return the table as CSV, the names of the columns in the first line."""
    told = cells(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(told[0]) if told else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(told)
    return text.getvalue()


def agreement(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """Say for each score of the reference which members move it in the same direction from the base.

    Ours are of the first test set; a member that the reference says to change nothing is left out.
    """
    base = next((row for row in rows if row.member.name == sweep.base), None)
    if base is None or base.state != "done":
        return []
    return [_agreement(name, base, rows) for name in base.member.reference]


def _agreement(score: str, base: Row, rows: Sequence[Row]) -> str:
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
    sentence = f"{score}: {len(same)} of {len(same) + len(other)} move as in the reference"
    return f"{sentence}; not so {', '.join(other)}." if other else f"{sentence}."


def _ours(score: str, row: Row) -> float | None:
    for value in row.result.values():
        if isinstance(value, Mapping):
            found: float | None = value.get(score)
            return found
    return None
