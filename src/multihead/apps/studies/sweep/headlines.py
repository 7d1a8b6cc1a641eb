"""Headline columns of a sweep: the changed settings and the main scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from multihead.apps.studies.sweep.plan import Sweep
from multihead.apps.studies.sweep.running import MemberRow

TEST_METRICS = ("bleu", "perplexity", "chrf", "accuracy", "f1")
"""Metrics shown for the first test set; other test sets show only the first metric."""
VALID, BY_LENGTH = "valid_", "bleu_lowercase_"


@dataclass(frozen=True)
class HeadlineScore:
    """A metric on a test set or on the validation set.

    Attributes:
        metric: name of the metric.
        test: name of the test set; "" for the validation set.
    """

    metric: str
    test: str = ""

    def of(self, row: MemberRow) -> float | None:
        """Return a member's value of this score, or None."""
        numbers = row.result.get(self.test) if self.test else row.result
        value = (numbers or {}).get(self.metric if self.test else f"{VALID}{self.metric}")
        return float(value) if isinstance(value, int | float) else None


def scores(rows: Sequence[MemberRow]) -> list[HeadlineScore]:
    """Return the scores to show: on the test sets, or else on the validation set."""
    tests = list(dict.fromkeys(name for row in rows for name in _tests(row)))
    if not tests:
        metrics = (key.removeprefix(VALID) for row in rows for key in row.result if key.startswith(VALID))
        return [HeadlineScore(metric) for metric in dict.fromkeys(metrics)]
    candidates = [HeadlineScore(metric, tests[0]) for metric in TEST_METRICS] + [
        HeadlineScore(TEST_METRICS[0], test) for test in tests[1:]
    ]
    return [score for score in candidates if any(score.of(row) is not None for row in rows)]


def by_length(rows: Sequence[MemberRow]) -> dict[str, HeadlineScore]:
    """Return BLEU on the first test set by source length, keyed by the range of words."""
    test = next((name for row in rows for name in _tests(row)), "")
    numbers = (key for row in rows for key in row.result.get(test, {}) if key.startswith(BY_LENGTH))
    return {key.removeprefix(BY_LENGTH): HeadlineScore(key, test) for key in dict.fromkeys(numbers)}


def base_of(sweep: Sweep, rows: Sequence[MemberRow]) -> MemberRow | None:
    """Return the base's row; None without a base, or while it is not done."""
    return next((row for row in rows if row.member.name == sweep.base and row.state == "done"), None)


def changes(row: MemberRow, sweep: Sweep) -> dict[str, object]:
    """Return the settings that differ from the base, or without a base from any other member."""
    names = {sweep.base} if sweep.base else {member.name for member in sweep.members} - {row.member.name}
    compared = [member for member in sweep.members if member.name in names]
    return {
        key: value
        for key, value in row.member.changed.items()
        if value != "" and any(other.changed.get(key) != value for other in compared)
    }


def _tests(row: MemberRow) -> list[str]:
    return [name for name, numbers in row.result.items() if isinstance(numbers, Mapping)]
