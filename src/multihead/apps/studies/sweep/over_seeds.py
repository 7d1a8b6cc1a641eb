"""Means over seeds: each change of a sweep, and a paired t-test against the reference with the same seeds."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, stdev

from multihead.apps.studies.sweep.headlines import HeadlineScore, scores
from multihead.apps.studies.sweep.plan import Member, Sweep
from multihead.apps.studies.sweep.running import MemberRow
from multihead.scores.t_test import paired_t_test

SEED = "training.seed"
COLUMNS = ("mean ± sd", "difference", "p")


@dataclass(frozen=True)
class Change:
    """Members that differ in their seed alone.

    Attributes:
        name: their name without the seed.
        rows: the finished ones, by seed.
        reference: whether the sweep's base is among them.
    """

    name: str
    reference: bool
    rows: dict[int, MemberRow] = field(default_factory=dict)


@dataclass(frozen=True)
class SeedStatistics:
    """A score of a change over its seeds.

    Attributes:
        mean: its mean.
        deviation: its standard deviation, of n - 1; None with one seed.
        difference: mean difference from the reference over the seeds that both have; None without any.
        pairs: number of these seeds.
        p_value: p-value of the difference by a paired t-test; None if it cannot be tested.
    """

    mean: float
    deviation: float | None
    difference: float | None = None
    pairs: int = 0
    p_value: float | None = None

    def cells(self) -> tuple[str, str, str]:
        """Return the texts of the ``COLUMNS``."""
        digits = 2 if abs(self.mean) >= 2 else 4
        deviation = "" if self.deviation is None else f" ± {self.deviation:.{digits}f}"
        difference = "" if self.difference is None else f"{self.difference:+.{digits}f}"
        p = "" if self.p_value is None else "<0.001" if self.p_value < 0.001 else f"{self.p_value:.3f}"
        return f"{self.mean:.{digits}f}{deviation}", difference, p


def changes_over_seeds(sweep: Sweep, rows: Sequence[MemberRow]) -> list[Change]:
    """Return the changes in the order of the sweep; none unless one of them has several seeds."""
    base = next((_key(member) for member in sweep.members if member.name == sweep.base), None)
    changes: dict[tuple[str, str], Change] = {}
    for row in rows:
        key = _key(row.member)
        change = changes.setdefault(key, Change(_name(row.member) or "all", key == base))
        if row.state == "done":
            change.rows[_seed(row.member)] = row
    planned = {(_key(row.member), _seed(row.member)) for row in rows}
    return [*changes.values()] if len(planned) > len(changes) else []


def change_names(sweep: Sweep) -> dict[str, str]:
    """Return each member's change by name; members that differ in their seed alone share one."""
    names: dict[tuple[str, str], str] = {}
    return {each.name: names.setdefault(_key(each), _name(each) or "all") for each in sweep.members}


def _key(member: Member) -> tuple[str, str]:
    settings = sorted((key, repr(value)) for key, value in member.changed.items() if key != SEED)
    # Members that a grid names differ in the rest of their name; those named by hand in their settings.
    return (_name(member) if _name(member) != member.name else "", repr(settings))


def _name(member: Member) -> str:
    return ",".join(part for part in member.name.split(",") if not part.startswith("seed="))


def _seed(member: Member) -> int:
    return int(str(member.changed.get(SEED, member.recipe.training.seed)))


def statistics(score: HeadlineScore, change: Change, changes: Sequence[Change]) -> SeedStatistics | None:
    """Return the statistics of a change, compared with the reference among all changes; None without any."""
    values = _values(score, change)
    if not values:
        return None
    mean, deviation = fmean(values.values()), stdev(values.values()) if len(values) > 1 else None
    reference = next((other for other in changes if other.reference), None)
    before = _values(score, reference) if reference and reference is not change else {}
    differences = [value - before[seed] for seed, value in values.items() if seed in before]
    if not differences:
        return SeedStatistics(mean, deviation)
    return SeedStatistics(mean, deviation, fmean(differences), len(differences), paired_t_test(differences))


def _values(score: HeadlineScore, change: Change) -> Mapping[int, float]:
    values = {seed: score.of(row) for seed, row in change.rows.items()}
    return {seed: value for seed, value in values.items() if value is not None and math.isfinite(value)}


def explanation(changes: Sequence[Change]) -> str:
    """Return what the columns mean, and the limits of the test."""
    meaning = "sd: standard deviation over seeds (n - 1)."
    reference = next((change.name for change in changes if change.reference), None)
    tested = sum(bool(change.rows) for change in changes) - 1
    if reference is None or tested < 1:
        return meaning
    return (
        f"{meaning} difference: from {reference} with the same seeds. p: two-sided paired t-test, which "
        "assumes normally distributed differences. Few seeds show large effects only: p < 0.05 takes a mean "
        "difference of 2.5 standard deviations of the differences with 3 seeds, 1.2 with 5. If nothing had "
        f"an effect, {tested / 20:.2g} of {tested} tests would still have p < 0.05 on average."
    )


def to_json(sweep: Sweep, rows: Sequence[MemberRow]) -> str:
    """Return the statistics of all scores as JSON."""
    changes = changes_over_seeds(sweep, rows)
    listed = []
    for change in changes:
        numbers = {
            f"{score.test} {score.metric}".strip(): asdict(result)
            for score in scores(rows)
            if (result := statistics(score, change, changes))
        }
        seeds = sorted(change.rows)
        listed.append({"name": change.name, "reference": change.reference, "seeds": seeds, "scores": numbers})
    return json.dumps({"sweep": sweep.name, "changes": listed}, indent=2, allow_nan=False) + "\n"
