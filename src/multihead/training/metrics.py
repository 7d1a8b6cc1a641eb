"""Training metrics between two lines of metrics.jsonl."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from multihead.training.update import UpdateStats


@dataclass
class IntervalMetrics:
    """Running sums over the updates since the last log line.

    Attributes:
        sums: sum of every loss term.
        counts: denominator of every loss term.
        updates: number of finished updates.
        tokens: target tokens of the started updates.
        norm: sum of the gradient norms.
        rate: the last learning rate.
        seconds: time spent.
    """

    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    updates: int = 0
    tokens: int = 0
    norm: float = 0.0
    rate: float = 0.0
    seconds: float = 0.0

    def add_started(self, *, tokens: int, rate: float) -> None:
        """Add a started update."""
        self.tokens += tokens
        self.rate = rate

    def add_finished(self, stats: Sequence[UpdateStats]) -> None:
        """Add the statistics of finished updates."""
        for update in stats:
            for name, value in update.sums.items():
                self.sums[name] = self.sums.get(name, 0.0) + value
                self.counts[name] = self.counts.get(name, 0) + update.counts[name]
            self.updates += 1
            self.norm += update.norm

    def means(self) -> dict[str, float]:
        """Return the mean of every loss term: "loss", then the others by name, also after a resume."""
        names = sorted(self.sums, key=lambda name: (name != "loss", name))
        return {name: self.sums[name] / max(1, self.counts[name]) for name in names}

    def speed(self, remaining: int) -> dict[str, float]:
        """Return learning rate, mean gradient norm, throughput, and the ETA of the remaining updates."""
        return {
            "rate": self.rate,
            "norm": self.norm / max(1, self.updates),
            "tokens_per_second": self.tokens / self.seconds,
            "eta_seconds": remaining * self.seconds / max(1, self.updates),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics as a JSON object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "IntervalMetrics":
        """Return the metrics from the JSON object of :meth:`to_dict`.

        Raises:
            ValueError: it is not such an object.
        """
        try:
            found = cls(**saved)
            values = [*found.sums.values(), *found.counts.values()]
            values += [found.updates, found.tokens, found.norm, found.rate, found.seconds]
            if found.sums.keys() != found.counts.keys() or not all(type(v) in (int, float) for v in values):
                raise TypeError("sums and counts do not match")
        except (AttributeError, TypeError) as error:
            raise ValueError(f"not the metrics of updates: {error}") from None
        return found
