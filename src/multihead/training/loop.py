"""The training loop.

A training can be cut off at any moment. Started again on the same run folder it goes on from the last
saved state and ends with the same bytes, because the order of the batches and everything random are
functions of (seed, step): only weights, the optimiser's moments and a position are stored.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Protocol

import torch
from torch import nn

from multihead import hardware
from multihead.batch import Batch
from multihead.data.stream import Position, Stream
from multihead.run import Run
from multihead.settings import FirstStage, OptimisationSettings, ValidationSchedule
from multihead.training import model_selection, optimizers
from multihead.training.checkpoints import Checkpoints
from multihead.training.cuda_graphs import updater
from multihead.training.interrupt import watched
from multihead.training.metrics import Interval
from multihead.training.prefetch import fed
from multihead.training.progress import Progress
from multihead.training.schedules import staged_rate
from multihead.training.state import State

Group = list[tuple[Batch, Position]]
"""The micro-batches of one update, each with the position after it."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What a look at the validation data gave.

    Attributes:
        metrics: numbers by name.
        samples: sample translations and the like, as text.
        judged: whether the metrics say already how good the model is; a model of several stages is not
            judged before its last.
    """

    metrics: dict[str, float]
    samples: str = ""
    judged: bool = True


class Observer(Protocol):
    """Who is told how it goes."""

    def stepped(self, step: int) -> None:
        """One more update was made."""
        ...

    def updated(self, event: dict[str, Any]) -> None:
        """Some updates were made (every ``training.log_every``)."""
        ...

    def validated(self, event: dict[str, Any], samples: str) -> None:
        """A scheduled checkpoint was validated."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a training ended.

    Attributes:
        how: "finished", or "interrupted" (the same command goes on).
        progress: where it stands.
        chosen: which weights became the model ("average", "best", ...), "" if interrupted.
        metrics: their validation.
    """

    how: Literal["finished", "interrupted"]
    progress: Progress
    chosen: str = ""
    metrics: dict[str, float] | None = None


class Training:
    """One model's training in one run folder.

    Args:
        run: the run folder, locked.
        model: on its device, freshly made; has ``loss(batch, step)``.
        stream: makes the stream of batches from a position.
        validate: looks at the model (in evaluation mode) after some step.
        observer: who is told.
        settings: of the training.
        validation: when to validate, and what "best" means.
        d_model: the width that the noam schedule asks for.
        device: where the model is.
    """

    def __init__(
        self,
        *,
        run: Run,
        model: nn.Module,
        stream: Callable[[Position], Stream[Batch]],
        validate: Callable[[nn.Module, int], Validation],
        observer: Observer,
        settings: OptimisationSettings,
        validation: ValidationSchedule,
        d_model: int,
        device: torch.device,
    ) -> None:
        self.run, self.model, self.observer = run, model, observer
        self._stream, self._validate, self._device = stream, validate, device
        self.settings, self.validation, self.d_model = settings, validation, d_model
        self._first: FirstStage | None = getattr(model, "first", None)
        self.state = State(model, settings, device)
        self.state.restore(run)
        self.updater = updater(model, self.state.optimizer, settings, device)
        self.checkpoints = Checkpoints(run, validation, settings.average)
        # A crash may have come before what is too old was removed.
        self.checkpoints.clear(self.progress)
        self._saved_at = time.monotonic()

    @property
    def progress(self) -> Progress:
        """How far it has come."""
        return self.state.progress

    @property
    def done(self) -> bool:
        """Whether there is no update left to make."""
        return self.progress.step >= self.settings.steps or bool(self.progress.stopped)

    def fit(self) -> Outcome:
        """Train to the end, or until somebody asks to stop, and choose the final weights.

        A training that has come to its end before is left as it is.
        """
        if ended := self._ended():
            return ended
        self.model.train()
        with watched() as interrupt, fed(self._stream(self.progress.position), self._device) as batches:
            while not self.done and not interrupt.asked:
                with self._timed():
                    self._update(list(islice(batches, self.settings.accumulate)))
                self.observer.stepped(self.progress.step)
                if self.progress.step % self.settings.log_every == 0:
                    self._tell()
                if self.progress.step % self.validation.every == 0:
                    self._checkpoint()
                elif time.monotonic() - self._saved_at > 60 * self.settings.save_minutes:
                    self.save()
            self.save()
            return self._finish() if self.done else Outcome("interrupted", self.progress)

    # --- one step -----------------------------------------------------------------------------------

    def _update(self, group: Group) -> None:
        """Make one update, and note what was told and where it leads to."""
        progress, step = self.progress, self.progress.step + 1
        batches = [batch for batch, _ in group]
        rate = staged_rate(step, self._first, self.settings, self.d_model)
        optimizers.set_rate(self.state.optimizer, rate)
        told = self.updater.update(step, batches)
        if self.state.ema:
            self.state.ema.update(self.model, step)
        tokens = sum(batch.tokens for batch in batches)
        progress.step, progress.position = step, group[-1][1]
        progress.tokens += tokens
        progress.untold.begun(tokens=tokens, rate=rate)
        progress.untold.add(told)

    def _settle(self) -> None:
        """Wait for what is under way: what is told or saved is of finished, finite updates."""
        with self._timed():
            self.progress.untold.add(self.updater.settle())

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Count the time inside the block as spent on updates."""
        began = time.monotonic()
        yield
        seconds = time.monotonic() - began
        self.progress.seconds += seconds
        self.progress.untold.seconds += seconds

    def _tell(self) -> None:
        self._settle()
        progress = self.progress
        event = {
            "event": "update",
            "step": progress.step,
            "epoch": progress.position.epoch,
            **progress.untold.means(),
            **progress.untold.pace(self.settings.steps - progress.step),
            "tokens": progress.tokens,
            "seconds": progress.seconds,
        }
        progress.untold = Interval()
        self.run.log(event)
        self.observer.updated(event)
        hardware.return_memory()

    def _checkpoint(self) -> None:
        """Validate, keep the weights, and decide whether to go on: at scheduled steps only."""
        self._settle()
        seen = self._look()
        event = {"event": "validation", "step": self.progress.step, "best": False, **seen.metrics}
        if seen.judged:
            event["best"] = self.checkpoints.take_in(self.progress, self.model.state_dict(), seen.metrics)
        self.run.log(event)
        self.run.add_samples(self.progress.step, seen.samples)
        self.save()
        self.checkpoints.clear(self.progress)
        self.observer.validated(event, seen.samples)

    def save(self) -> None:
        """Write down where it stands."""
        self._settle()
        self.state.save(self.run)
        self._saved_at = time.monotonic()

    def _look(self) -> Validation:
        self.model.eval()
        with torch.no_grad():
            seen = self._validate(self.model, self.progress.step)
        self.model.train()
        hardware.return_memory()
        return seen

    # --- the end ------------------------------------------------------------------------------------

    def _ended(self) -> Outcome | None:
        """Return how an earlier start ended here, None if it did not."""
        for event in self.run.metrics() if self.done else ():
            if event.get("event") == "end" and event["step"] == self.progress.step:
                return Outcome("finished", self.progress, event["weights"], event["metrics"])
        return None

    def _finish(self) -> Outcome:
        """Choose the final weights by validation and write them as the run's model."""
        trained = {name: weight.clone() for name, weight in self.model.state_dict().items()}
        offered = model_selection.candidates(
            self.settings,
            last=lambda: trained,
            best=self.checkpoints.load_best if self.progress.best is not None else None,
            scheduled=self.checkpoints.to_average(self.progress),
            went_on=self.progress.step % self.validation.every != 0,
            ema=self.state.ema.weights if self.state.ema else None,
        )
        seen: dict[str, dict[str, float]] = {}
        for name, weights in offered.items():
            self.model.load_state_dict(weights())
            seen[name] = self._look().metrics
        metric, step = self.validation.metric, self.progress.step
        values = {name: metrics[metric] for name, metrics in seen.items()}
        chosen = model_selection.best_of(seen, metric)
        self.run.save_model(offered[chosen](), {"step": step, "weights": chosen})
        self.model.load_state_dict(trained)
        event = {"event": "end", "step": step, "weights": chosen, "candidates": values}
        self.run.log({**event, "metrics": seen[chosen]})
        return Outcome("finished", self.progress, chosen, seen[chosen])
