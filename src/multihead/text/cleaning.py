"""Which sentence pairs are fit for training, and the report of those that are not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, Self, get_args

from multihead.settings import DataSettings

Reason = Literal[
    "empty", "too long", "length ratio", "identical", "too many pieces", "duplicate", "not wanted"
]

_MEANING: Mapping[Reason, str] = {
    "empty": "one side is empty",
    "too long": "longer than data.max_chars",
    "length ratio": "lengths differ more than data.max_length_ratio",
    "identical": "source and target are the same",
    "too many pieces": "longer than data.max_length in pieces",
    "duplicate": "seen before",
    "not wanted": "more than data.max_pairs",
}
_RATIO_SLACK = 10
"""Characters added to both sides before they are compared, so that "Ja." may become "Of course I will."."""


def fault(source: str, target: str, data: DataSettings) -> Reason | None:
    """Return why a pair is to be dropped, or None; looks at nothing but the pair."""
    if not source or not target or source.isspace() or target.isspace():
        return "empty"
    short, long = sorted((len(source), len(target)))
    if long > data.max_chars:
        return "too long"
    if long + _RATIO_SLACK > data.max_length_ratio * (short + _RATIO_SLACK):
        return "length ratio"
    if data.drop_identical and source == target:
        return "identical"
    return None


def pair_hash(source: str, target: str) -> int:
    """Return 64 bits (unsigned) that stand for a pair, the same in every process and on every machine.

    Among 10 million different pairs the chance that any two collide is 3 in a million.
    """
    return int.from_bytes(blake2b(f"{source}\0{target}".encode(), digest_size=8).digest(), "little")


@dataclass
class CleaningReport:
    """What was read, and what was dropped for which reason.

    Attributes:
        read: pairs read.
        dropped: pairs dropped, by reason.
        first: the first pair dropped for a reason, counted from 1 through all files.
    """

    read: int = 0
    dropped: dict[Reason, int] = field(default_factory=dict)
    first: dict[Reason, int] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """Pairs that are left."""
        return self.read - sum(self.dropped.values())

    def see(self, reason: Reason | None) -> None:
        """Count the next pair read, and what ``fault`` said of it."""
        self.read += 1
        if reason is not None:
            self.drop(reason, self.read)

    def drop(self, reason: Reason, number: int) -> None:
        """Drop a pair that was counted as read before; ``number`` is its place, from 1."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        self.first[reason] = min(number, self.first.get(reason, number))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON can hold it."""
        dropped = {reason: self.dropped[reason] for reason in get_args(Reason) if reason in self.dropped}
        first = {reason: self.first[reason] for reason in dropped}
        return {"read": self.read, "kept": self.kept, "dropped": dropped, "first": first}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Return the report that ``to_dict`` wrote."""
        return cls(saved["read"], dict(saved["dropped"]), dict(saved["first"]))

    def __str__(self) -> str:
        lines = [f"{self.read:,} pairs read, {self.kept:,} kept"]
        for reason, count in self.to_dict()["dropped"].items():
            where = f"first: pair {self.first[reason]:,}"
            lines.append(f"  {count:,} dropped: {_MEANING[reason]} ({where})")
        return "\n".join(lines)
