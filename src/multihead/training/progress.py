"""The progress of a training run and its metrics, saved as JSON next to the tensors of its state."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from multihead.data.stream import StreamPosition
from multihead.training.update import UpdateStats

PATIENCE = "early stopping"
"""The reason of early stopping begins with this."""
DIVERGED_FACTOR, DIVERGED_NATS = 2.0, 3.0
"""A training has diverged if its loss is above both this multiple of the first update's, and so much more."""


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
            metrics = cls(**saved)
            values = [*metrics.sums.values(), *metrics.counts.values()]
            values += [metrics.updates, metrics.tokens, metrics.norm, metrics.rate, metrics.seconds]
            if metrics.sums.keys() != metrics.counts.keys() or not all(
                type(v) in (int, float) for v in values
            ):
                raise TypeError("sums and counts do not match")
        except (AttributeError, TypeError) as error:
            raise ValueError(f"not the metrics of updates: {error}") from None
        return metrics


@dataclass
class TrainingProgress:
    """The state of a training run besides its tensors.

    Attributes:
        step: number of updates so far.
        position: position of the next batch in the data.
        tokens: number of target tokens trained on.
        seconds: time spent in updates, interruptions excluded.
        best: best validation metric at a scheduled checkpoint.
        best_step: step of that checkpoint.
        best_loss: validation loss of that checkpoint, where the validation has one.
        without_gain: number of scheduled validations since then.
        scheduled: steps of the scheduled checkpoints still on disk, oldest first.
        stopped: the reason of early stopping; "" without it.
        cooldown: first and last step of the cool-down (schedule wsd) once it is due; 0, 0 before.
        ending: the reason why the cool-down began; "" before.
        lowest_loss: lowest validation loss at a scheduled checkpoint.
        gain_step: step of the last validation that was an improvement for patience.
        elapsed: wall-clock seconds of all starts, preparation and validations included.
        skipped: batches skipped because their gradient was not finite.
        parts: parts in which each batch is computed, for lack of memory.
        unvalidated: the scheduled validation of this step is still to be made.
        unlogged: metrics of the updates since the last line of metrics.jsonl.
        first_loss: training loss of the first update, before it changed a weight.
        logged_loss: mean training loss in the last line of metrics.jsonl.
    """

    step: int = 0
    position: StreamPosition = field(default_factory=StreamPosition)
    tokens: int = 0
    seconds: float = 0.0
    best: float | None = None
    best_step: int = 0
    without_gain: int = 0
    scheduled: list[int] = field(default_factory=list)
    stopped: str = ""
    unlogged: IntervalMetrics = field(default_factory=IntervalMetrics)
    best_loss: float | None = None
    cooldown: tuple[int, int] = (0, 0)
    ending: str = ""
    lowest_loss: float | None = None
    gain_step: int = 0
    elapsed: float = 0.0
    unvalidated: bool = False
    skipped: int = 0
    parts: int = 1
    first_loss: float | None = None
    logged_loss: float | None = None

    @property
    def loss(self) -> float | None:
        """The latest mean training loss; None before the first update."""
        return self.unlogged.means().get("loss", self.logged_loss)

    @property
    def diverged(self) -> bool:
        """True if the loss has grown far beyond that of the first update."""
        first, loss = self.first_loss, self.loss
        if first is None or loss is None or first <= 0:
            return False
        return not loss <= max(DIVERGED_FACTOR * first, first + DIVERGED_NATS)  # NaN has diverged too

    def add_finished(self, stats: Sequence[UpdateStats]) -> None:
        """Add the statistics of finished updates."""
        self.unlogged.add_finished(stats)
        if self.first_loss is None and stats and stats[0].counts.get("loss"):
            self.first_loss = stats[0].sums["loss"] / stats[0].counts["loss"]

    def to_dict(self) -> dict[str, Any]:
        """Return the progress as a JSON object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "TrainingProgress":
        """Return the progress from the JSON object of :meth:`to_dict`.

        Raises:
            ValueError: it is not such an object.
        """
        rest = dict(saved)
        unlogged = rest.pop("unlogged", rest.pop("untold", {}))  # "untold", or nothing: earlier versions
        try:
            metrics = IntervalMetrics.from_dict(unlogged)
            state = cls(**{**rest, "position": StreamPosition(**rest["position"]), "unlogged": metrics})
            state.scheduled = list(state.scheduled)
            first, last = state.cooldown
            state.cooldown = (first, last)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the progress of a training run: {error}") from None
        counts = [state.step, state.tokens, state.best_step, state.without_gain]
        counts += [
            *state.scheduled,
            *state.cooldown,
            state.gain_step,
            state.skipped,
            state.parts - 1,
        ]
        for count in (*counts, state.position.epoch, state.position.batch):
            if type(count) is not int or count < 0:
                raise ValueError(f"not the progress of a training run: {count!r} is not a count")
        numbers = state.best, state.best_loss, state.lowest_loss, state.first_loss, state.logged_loss
        optional = [value for value in numbers if value is not None]
        for value in (*optional, state.seconds, state.elapsed):
            if not isinstance(value, float | int):
                raise ValueError(f"not the progress of a training run: {value!r} is not a number")
        return state
