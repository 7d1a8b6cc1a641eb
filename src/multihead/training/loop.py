"""The training loop, and what it saves.

A training can be cut off at any moment. Started again on the same run folder it goes on from the last
saved state and ends with the same bytes, because the order of the batches and everything random are
functions of (seed, step): only weights, the optimiser's moments and a position are stored.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from multihead.batch import PairBatch
from multihead.data.batches import Position
from multihead.run import Run
from multihead.settings import TrainingSettings, ValidationSettings
from multihead.training import final, optimizers
from multihead.training.averaging import MovingAverage
from multihead.training.interrupt import watched
from multihead.training.progress import Progress
from multihead.training.schedules import learning_rate
from multihead.training.telling import Interval
from multihead.training.update import Updater

Stream = Iterator[tuple[PairBatch, Position]]
MODEL, EMA = "model.", "ema."
WEIGHTS = "weights-"


@dataclass(frozen=True, slots=True)
class Validation:
    """What a look at the validation data gave: numbers by name, and sample translations as text."""

    metrics: dict[str, float]
    samples: str = ""


class Observer(Protocol):
    """Who is told how it goes."""

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
        stream: makes the endless stream of batches from a position.
        validate: looks at the model (in evaluation mode) after some step.
        observer: who is told.
        settings: of the training.
        validation: when to validate, and what "best" means.
        d_model: the width that the noam schedule asks for.
    """

    def __init__(
        self,
        *,
        run: Run,
        model: nn.Module,
        stream: Callable[[Position], Stream],
        validate: Callable[[nn.Module, int], Validation],
        observer: Observer,
        settings: TrainingSettings,
        validation: ValidationSettings,
        d_model: int,
        device: torch.device,
    ) -> None:
        self.run, self.model, self.stream = run, model, stream
        self._validate, self.observer = validate, observer
        self.settings, self.validation, self.d_model = settings, validation, d_model
        self.device = device
        self.optimizer = optimizers.make_optimizer(model, settings)
        self.ema = MovingAverage(model, settings.ema) if settings.ema else None
        self.progress = Progress()
        self._resume()

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
        batches = self.stream(self.progress.position)
        updater = Updater(self.model, self.optimizer, self.settings, self.device)
        progress, interval = self.progress, Interval()
        saved_at = time.monotonic()
        self.model.train()
        with watched() as interrupt:
            while not self.done and not interrupt.asked:
                began = time.monotonic()
                group = list(islice(batches, self.settings.accumulate))
                step = progress.step + 1
                rate = learning_rate(step, self.settings, self.d_model)
                optimizers.set_rate(self.optimizer, rate)
                told = updater.update(step, [batch for batch, _ in group])
                if self.ema:
                    self.ema.update(self.model, step)
                progress.step, progress.position = step, group[-1][1]
                tokens = sum(batch.tokens for batch, _ in group)
                seconds = time.monotonic() - began
                progress.tokens += tokens
                progress.seconds += seconds
                interval.add(told, tokens=tokens, rate=rate, seconds=seconds)
                if step % self.settings.log_every == 0:
                    event = interval.event(progress, self.settings.steps)
                    self.run.log(event)
                    self.observer.updated(event)
                    interval = Interval()
                if step % self.validation.every == 0:
                    self._checkpoint()
                    saved_at = time.monotonic()
                elif time.monotonic() - saved_at > 60 * self.settings.save_minutes:
                    self._save_state()
                    saved_at = time.monotonic()
            self._save_state()
            if not self.done:
                return Outcome("interrupted", progress)
            chosen, metrics = self._finish()
        return Outcome("finished", progress, chosen, metrics)

    # --- checkpoints --------------------------------------------------------------------------------

    def _checkpoint(self) -> None:
        """Validate, remember the weights, and decide whether to go on: at scheduled steps only."""
        progress, weights = self.progress, self.model.state_dict()
        seen = self._look()
        value = seen.metrics[self.validation.metric]
        better = progress.best is None or final.is_better(value, progress.best, self.validation.metric)
        if better:
            progress.best, progress.best_step, progress.without_gain = value, progress.step, 0
            self.run.save_tensors("best", weights, {"step": progress.step, "metrics": seen.metrics})
        else:
            progress.without_gain += 1
        patience = self.validation.patience
        if patience and progress.without_gain >= patience:
            progress.stopped = (
                f"no better {self.validation.metric} than {progress.best:.4g} (step {progress.best_step}) "
                f"in {patience} validations"
            )
        self.run.save_tensors(_weights(progress.step), weights, {"step": progress.step})
        progress.scheduled.append(progress.step)
        # One more than is averaged, for the case that the newest state cannot be read.
        late, progress.scheduled = _split(progress.scheduled, self.settings.average + 1)
        event = {"event": "validation", "step": progress.step, "best": better, **seen.metrics}
        self.run.log(event)
        self.run.add_samples(progress.step, seen.samples)
        self._save_state()
        for step in late:
            self.run.remove(_weights(step))
        self.observer.validated(event, seen.samples)

    def _look(self) -> Validation:
        self.model.eval()
        with torch.no_grad():
            seen = self._validate(self.model, self.progress.step)
        self.model.train()
        return seen

    def _save_state(self) -> None:
        tensors = {MODEL + name: weight for name, weight in self.model.state_dict().items()}
        tensors |= optimizers.state_tensors(self.optimizer, self.model)
        if self.ema:
            tensors |= {EMA + name: weight for name, weight in self.ema.weights.items()}
        self.run.save_state(self.progress.step, tensors, self.progress.to_dict())

    def _resume(self) -> None:
        saved = self.run.load_state()
        if saved is None:
            self.run.truncate_after(0)
            return
        tensors, meta = saved
        self.progress = Progress.from_dict(meta)
        self.model.load_state_dict(_under(MODEL, tensors))
        optimizers.load_state_tensors(self.optimizer, self.model, tensors)
        if self.ema:
            self.ema.weights = {name: weight.to(self.device) for name, weight in _under(EMA, tensors).items()}
        self.run.truncate_after(self.progress.step)
        wanted = {_weights(step) for step in self.progress.scheduled}
        for name in self.run.checkpoints():
            # A crash may have come before what is too old was removed.
            if name.startswith(WEIGHTS) and name not in wanted:
                self.run.remove(name)

    # --- the end ------------------------------------------------------------------------------------

    def _ended(self) -> Outcome | None:
        """Return how an earlier start ended here, None if it did not."""
        for event in self.run.metrics() if self.done else ():
            if event["event"] == "end" and event["step"] == self.progress.step:
                return Outcome("finished", self.progress, event["weights"], event["metrics"])
        return None

    def _saved(self, name: str) -> dict[str, Tensor]:
        return self.run.load_tensors(name)[0]

    def _finish(self) -> tuple[str, dict[str, float]]:
        """Choose the final weights by validation and write them as the run's model."""
        trained = {name: weight.clone() for name, weight in self.model.state_dict().items()}
        candidates = final.candidates(
            self.settings,
            last=lambda: trained,
            best=partial(self._saved, "best"),
            scheduled=[
                partial(self._saved, _weights(step))
                for step in self.progress.scheduled[-self.settings.average :]
            ],
            ema=self.ema.weights if self.ema else None,
        )
        results: dict[str, dict[str, float]] = {}
        for name, weights in candidates.items():
            self.model.load_state_dict(weights())
            results[name] = self._look().metrics
        metric = self.validation.metric
        chosen = final.best_of({name: metrics[metric] for name, metrics in results.items()}, metric)
        self.model.load_state_dict(candidates[chosen]())
        step = self.progress.step
        self.run.save_model(self.model.state_dict(), {"step": step, "weights": chosen})
        self.model.load_state_dict(trained)
        told = {name: metrics[metric] for name, metrics in results.items()}
        self.run.log(
            {
                "event": "end",
                "step": step,
                "weights": chosen,
                "candidates": told,
                "metrics": results[chosen],
            }
        )
        return chosen, results[chosen]


def _weights(step: int) -> str:
    return f"{WEIGHTS}{step:010}"


def _split(steps: list[int], kept: int) -> tuple[list[int], list[int]]:
    return steps[:-kept], steps[-kept:]


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
