"""Corpus cleaning: rules that drop sentence pairs unfit for training, and a report of what they dropped."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, Self, get_args

from multihead.recipe.settings import DataSettings

Reason = Literal[
    "empty",
    "too long",
    "length ratio",
    "identical",
    "too many pieces",
    "duplicate",
    "not wanted",
    "held out",
    "corrected",
]

_EXPLANATION: Mapping[Reason, str] = {
    "empty": "one side is empty",
    "too long": "longer than data.max_chars characters",
    "length ratio": "length ratio above data.max_length_ratio",
    "identical": "source and target are identical",
    "too many pieces": "longer than data.max_length tokens",
    "duplicate": "duplicate",
    "not wanted": "beyond data.max_pairs",
    "held out": "shares a sentence with the validation data",
    "corrected": "a correction has the same source",
}
_RATIO_SLACK = 10
"""Characters added to both lengths before taking the ratio: "Ja." may become "Of course I will."."""


def rejection_reason(source: str, target: str, data: DataSettings) -> Reason | None:
    """Return the reason for dropping a pair, or None to keep it. Depends on the pair alone."""
    if not source or not target or source.isspace() or target.isspace():
        return "empty"
    if max(len(source), len(target)) > data.max_chars:
        return "too long"
    if length_ratio(source, target) > data.max_length_ratio:
        return "length ratio"
    if data.drop_identical and source == target:
        return "identical"
    return None


def length_ratio(source: str, target: str) -> float:
    """Return the ratio of the two lengths in characters, at least 1, with some slack for short pairs."""
    short, long = sorted((len(source), len(target)))
    return (long + _RATIO_SLACK) / (short + _RATIO_SLACK)


def pair_hash(source: str, target: str) -> int:
    """Return an unsigned 64-bit hash of a pair, the same in every process and on every machine.

    Among 10 million different pairs, the probability of any collision is 3 in a million.
    """
    return int.from_bytes(blake2b(f"{source}\0{target}".encode(), digest_size=8).digest(), "little")


@dataclass
class CleaningReport:
    """Counts of the pairs read and of those dropped, by reason.

    Attributes:
        read: pairs read.
        dropped: pairs dropped, by reason.
        first: number of the first pair dropped for each reason, counted from 1 across all files.
    """

    read: int = 0
    dropped: dict[Reason, int] = field(default_factory=dict)
    first: dict[Reason, int] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """Pairs kept."""
        return self.read - sum(self.dropped.values())

    def record(self, reason: Reason | None) -> None:
        """Count a pair as read and, unless the reason is None, as dropped."""
        self.read += 1
        if reason is not None:
            self.drop(reason, self.read)

    def drop(self, reason: Reason, number: int) -> None:
        """Count pair ``number`` (from 1), already counted as read, as dropped."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        self.first[reason] = min(number, self.first.get(reason, number))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON-serialisable dictionary."""
        dropped = {reason: self.dropped[reason] for reason in get_args(Reason) if reason in self.dropped}
        first = {reason: self.first[reason] for reason in dropped}
        return {"read": self.read, "kept": self.kept, "dropped": dropped, "first": first}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Return the report from the dictionary that ``to_dict`` made."""
        return cls(saved["read"], dict(saved["dropped"]), dict(saved["first"]))

    def __str__(self) -> str:
        lines = [f"{self.read:,} pairs read, {self.kept:,} kept"]
        for reason, count in self.to_dict()["dropped"].items():
            lines.append(f"  {count:,} dropped: {_EXPLANATION[reason]} (first: pair {self.first[reason]:,})")
        return "\n".join(lines)
