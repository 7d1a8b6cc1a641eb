"""What is told of the updates between two lines of metrics.jsonl."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from multihead.training.update import Told


@dataclass
class Interval:
    """Sums over some updates.

    Attributes:
        sums: of every term of the loss.
        counts: what each is divided by.
        updates: how many.
        tokens: target tokens of those begun.
        norm: of gradients, summed.
        rate: the last learning rate.
        seconds: spent.
    """

    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    updates: int = 0
    tokens: int = 0
    norm: float = 0.0
    rate: float = 0.0
    seconds: float = 0.0

    def begun(self, *, tokens: int, rate: float) -> None:
        """Take in an update that was begun: its target tokens, its learning rate."""
        self.tokens += tokens
        self.rate = rate

    def add(self, told: Sequence[Told]) -> None:
        """Take in what updates told that have come to their end."""
        for one in told:
            for name, value in one.sums.items():
                self.sums[name] = self.sums.get(name, 0.0) + value
                self.counts[name] = self.counts.get(name, 0) + one.counts[name]
            self.updates += 1
            self.norm += one.norm

    def means(self) -> dict[str, float]:
        """Return the mean of every term of the loss."""
        return {name: total / max(1, self.counts[name]) for name, total in self.sums.items()}

    def pace(self, left: int) -> dict[str, float]:
        """Return rate, norm and speed, and the time that so many more updates will take."""
        return {
            "rate": self.rate,
            "norm": self.norm / self.updates,
            "tokens_per_second": self.tokens / self.seconds,
            "eta_seconds": left * self.seconds / self.updates,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Interval":
        """Return what :meth:`to_dict` was made from.

        Raises:
            ValueError: it was made by something else.
        """
        try:
            found = cls(**saved)
            values = [*found.sums.values(), *found.counts.values()]
            values += [found.updates, found.tokens, found.norm, found.rate, found.seconds]
            if found.sums.keys() != found.counts.keys() or not all(type(v) in (int, float) for v in values):
                raise TypeError("not sums and counts of the same")
        except (AttributeError, TypeError) as error:
            raise ValueError(f"no sums of updates: {error}") from None
        return found
