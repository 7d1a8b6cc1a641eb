"""What is told of the updates between two lines of metrics.jsonl."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from multihead.training.progress import Progress
from multihead.training.update import Told


class Interval:
    """Sums over some updates."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._updates, self._tokens = 0, 0
        self._norm, self._rate, self._seconds = 0.0, 0.0, 0.0

    def begun(self, *, tokens: int, rate: float) -> None:
        """Take in an update that was begun: its target tokens, its learning rate."""
        self._tokens += tokens
        self._rate = rate

    def add(self, told: Sequence[Told]) -> None:
        """Take in what updates told that have come to their end."""
        for one in told:
            for name, value in one.sums.items():
                self._sums[name] += value
                self._counts[name] += one.counts[name]
            self._updates += 1
            self._norm += one.norm

    def spent(self, seconds: float) -> None:
        """Take in time."""
        self._seconds += seconds

    def event(self, progress: Progress, steps: int) -> dict[str, Any]:
        """Return the line for metrics.jsonl: means, the last rate, speed, the time left until ``steps``."""
        return {
            "event": "update",
            "step": progress.step,
            "epoch": progress.position.epoch,
            **{name: total / max(1, self._counts[name]) for name, total in self._sums.items()},
            "rate": self._rate,
            "norm": self._norm / self._updates,
            "tokens_per_second": self._tokens / self._seconds,
            "tokens": progress.tokens,
            "seconds": progress.seconds,
            "eta_seconds": (steps - progress.step) * self._seconds / self._updates,
        }
