"""Detects the separator of a CSV file from its first lines."""

import csv
from collections import Counter
from collections.abc import Sequence

SEPARATORS = ",;\t"
"""Candidates; spreadsheets write semicolons where decimals have commas."""
SAMPLED = 50
"""Number of lines that decide."""


def separator(sample: Sequence[str]) -> str:
    """Return the separator that gives most rows the same number of cells, more than one."""
    return max(SEPARATORS, key=lambda mark: _regular(sample, mark))


def _regular(sample: Sequence[str], mark: str) -> float:
    try:
        rows = [row for row in csv.reader((line + "\n" for line in sample), delimiter=mark) if row]
    except csv.Error:
        return 0.0
    widths = Counter(len(row) for row in rows)
    width, rows_of_it = max(widths.items(), key=lambda item: item[1], default=(0, 0))
    return rows_of_it / len(rows) if width > 1 else 0.0
