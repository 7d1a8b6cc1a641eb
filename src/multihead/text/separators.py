"""The separator of the cells of a table of values, by what its lines look like."""

import csv
from collections import Counter
from collections.abc import Sequence

SEPARATORS = ",;\t"
"""Separators of the cells of a CSV file; spreadsheets write semicolons where decimals have commas."""
SAMPLED = 50
"""Lines that decide which of them does."""


def separator(sample: Sequence[str]) -> str:
    """Return the separator by which most rows have the same number of cells, but more than one."""
    return max(SEPARATORS, key=lambda mark: _regular(sample, mark))


def _regular(sample: Sequence[str], mark: str) -> float:
    try:
        rows = [row for row in csv.reader((line + "\n" for line in sample), delimiter=mark) if row]
    except csv.Error:
        return 0.0
    widths = Counter(len(row) for row in rows)
    width, rows_of_it = max(widths.items(), key=lambda item: item[1], default=(0, 0))
    return rows_of_it / len(rows) if width > 1 else 0.0
