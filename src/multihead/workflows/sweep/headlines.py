"""What a reader looks for first in a sweep: what was changed, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from multihead.workflows.sweep.plan import Sweep
from multihead.workflows.sweep.running import Row

OF_TESTS = ("bleu", "perplexity", "chrf")
"""Scores shown of the first test set; of the others the first of these."""
VALID, BY_LENGTH = "valid_", "bleu_lowercase_"


@dataclass(frozen=True)
class Score:
    """A measure that members are compared by.

    Attributes:
        metric: its name.
        test: the test set, "" for the validation set.
    """

    metric: str
    test: str = ""

    def of(self, row: Row) -> float | None:
        """Return a member's, None where there is none."""
        numbers = row.result.get(self.test) if self.test else row.result
        value = (numbers or {}).get(self.metric if self.test else f"{VALID}{self.metric}")
        return float(value) if isinstance(value, int | float) else None


def scores(rows: Sequence[Row]) -> list[Score]:
    """Return the scores to show: those of the test sets, or where there are none those of validation."""
    tests = list(dict.fromkeys(name for row in rows for name in _tests(row)))
    if not tests:
        metrics = (key.removeprefix(VALID) for row in rows for key in row.result if key.startswith(VALID))
        return [Score(metric) for metric in dict.fromkeys(metrics)]
    shown = [Score(metric, tests[0]) for metric in OF_TESTS] + [
        Score(OF_TESTS[0], test) for test in tests[1:]
    ]
    return [score for score in shown if any(score.of(row) is not None for row in rows)]


def by_length(rows: Sequence[Row]) -> dict[str, Score]:
    """Return BLEU of the first test set's shorter and longer sources, by how many words they have."""
    test = next((name for row in rows for name in _tests(row)), "")
    numbers = (key for row in rows for key in row.result.get(test, {}) if key.startswith(BY_LENGTH))
    return {key.removeprefix(BY_LENGTH): Score(key, test) for key in dict.fromkeys(numbers)}


def base_of(sweep: Sweep, rows: Sequence[Row]) -> Row | None:
    """Return the row that the others are compared with, if it is done."""
    return next((row for row in rows if row.member.name == sweep.base and row.state == "done"), None)


def changes(row: Row, sweep: Sweep) -> dict[str, object]:
    """Return what a member has otherwise than the base; without a base, otherwise than the others."""
    names = {sweep.base} if sweep.base else {member.name for member in sweep.members} - {row.member.name}
    compared = [member for member in sweep.members if member.name in names]
    told: Mapping[str, object] = row.member.changed
    return {
        key: value
        for key, value in told.items()
        if value != "" and any(other.changed.get(key) != value for other in compared)
    }


def _tests(row: Row) -> list[str]:
    return [name for name, numbers in row.result.items() if isinstance(numbers, Mapping)]
