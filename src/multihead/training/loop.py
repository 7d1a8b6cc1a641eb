"""The training loop.

Training may be interrupted at any moment. Restarted on the same run folder, it resumes from the last saved
state and ends with the same bytes as an uninterrupted run. Batch order and all random numbers are functions
of (seed, step), so only weights, optimiser moments and a position are saved.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from itertools import islice

import torch
from torch import nn

from multihead.batch import Batch
from multihead.data.stream import Stream, StreamPosition
from multihead.recipe.settings import FirstStage
from multihead.system import hardware, parallel
from multihead.training import optimizers
from multihead.training.averaging import Weights
from multihead.training.checkpoints import ScheduledCheckpoints
from multihead.training.distributed.data_parallel import make_state, make_updater_of
from multihead.training.distributed.same_weights import refuse_other_weights
from multihead.training.distributed.shards import Shards
from multihead.training.ending import Ending, TimeLimit
from multihead.training.extension import reopen
from multihead.training.interrupt import Abandoned, Interrupt, interruptible
from multihead.training.model_selection import FinalSelection
from multihead.training.outcome import Observer, Outcome, Validation
from multihead.training.plan import TrainingPlan
from multihead.training.prefetch import prefetch
from multihead.training.progress import IntervalMetrics, TrainingProgress
from multihead.training.recovery import Recovery
from multihead.training.schedules import staged_rate
from multihead.training.unsaved_state import Unsaved

LOG = logging.getLogger(__name__)

Group = list[tuple[Batch, StreamPosition]]
"""The micro-batches of one update, each with the position that follows it."""


class Training:
    """Trains one model in one run folder.

    Args:
        model: a newly initialised model on its device, with ``loss(batch, step)``.
        plan: the run folder, data, validation, settings and time limit.
        observer: receives progress events.
    """

    def __init__(self, model: nn.Module, plan: TrainingPlan, observer: Observer) -> None:
        self.model, self.plan, self.observer = model, plan, observer
        self.run, self.settings, self.validation = plan.run, plan.settings, plan.validation
        self._first: FirstStage | None = getattr(model, "first", None)
        self.shards = Shards(self.settings.accumulate, asking=lambda: plan.finish or self.run.finish_asked)
        self._unsaved = Unsaved(model)
        self.state = make_state(model, self.settings, plan.device)
        if parallel.first():
            self.state.restore(self.run)
            if plan.longer:
                reopen(self.run, self.progress)
        self.state.share()
        updater = make_updater_of(
            model, self.state.optimizer, self.settings, plan.device, self.shards, self.state.sharded
        )
        self.recovery = Recovery(updater, self.state, self.settings, self.run.log)
        self.checkpoints = ScheduledCheckpoints(self.run, self.validation, self.settings.average)
        self.final = FinalSelection(self.run, self.settings, self.validation, self.checkpoints)
        # A crash may have left checkpoints that were due for removal.
        self.checkpoints.clear(self.progress)
        self._now, clock = self.shards.clock(time.monotonic), self.shards.clock(plan.clock)
        self._saved_at = self._now()
        begun = clock() if plan.started is None else parallel.from_first(lambda: plan.started)
        self.limit = TimeLimit(self.settings.minutes, clock, begun, self.progress.elapsed)
        self.ending = Ending(self.settings, self.progress, self.limit)
        self._interrupt = Interrupt()
        self._diverged = False

    @property
    def progress(self) -> TrainingProgress:
        """Progress so far."""
        return self.state.progress

    @property
    def done(self) -> bool:
        """True if no update is left: the last step is reached, or training stopped early."""
        return self.ending.done

    def fit(self) -> Outcome:
        """Train to the end and select the final weights, or stop when interrupted.

        A run that is already finished is left unchanged.
        """
        self._plan_ending()
        if outcome := self._earlier_outcome():
            return outcome
        if not self.done and not self.progress.step:
            self.limit.check_first(self._run_validation)
        self.model.train()
        stream = self.plan.stream(self.progress.position)
        shards = self.shards.of(stream)
        with interruptible() as self._interrupt, prefetch(shards, self.plan.device) as batches:
            try:
                return self._fit(self._interrupt, batches, stream)
            except Abandoned:
                self.save()
                return Outcome("interrupted", self.progress, signal=self._interrupt.number)

    def _fit(
        self, interrupt: Interrupt, batches: Iterator[tuple[Batch, StreamPosition]], stream: Stream[Batch]
    ) -> Outcome:
        if self.progress.unvalidated:
            self._checkpoint()
            self._plan_ending()
        while not self.done:
            with self._time():
                group = list(islice(batches, len(self.shards.own)))
                if not self.shards.ready([batch for batch, _ in group], stop=interrupt.requested):
                    break
                self._update(group, stream)
            self._unsaved.after_update()
            self.observer.on_step(self.progress.step)
            if self.progress.step % self.settings.log_every == 0:
                self._log()
            if self.progress.step % self.validation.every == 0:
                self._checkpoint()
            elif self._now() - self._saved_at > 60 * self.settings.save_minutes:
                self.save()
            self._plan_ending()
        self.save()
        if self.done:
            return self._finish()
        return Outcome("interrupted", self.progress, signal=interrupt.number)

    def _plan_ending(self) -> None:
        """Start the cool-down or stop, where it is time to; record that at once."""
        if self.ending.plan(asked=self.shards.asked):
            why, step = self.progress.stopped or self.progress.ending, self.progress.step
            # First, so that a kill before the state is saved cannot lose it; and once, if it was.
            if parallel.first() and not any(
                event["event"] == "ending" and event["step"] == step for event in self.run.metrics()
            ):
                self.run.log({"event": "ending", "step": step, "last": self.ending.last_step, "why": why})
            self.save()

    # --- one step -----------------------------------------------------------------------------------

    def _update(self, group: Group, stream: Stream[Batch]) -> None:
        """Make one update and record its metrics and position."""
        progress, step = self.progress, self.progress.step + 1
        batches = [batch for batch, _ in group]
        after = group[-1][1] if self.shards.world == 1 else self.shards.after(stream, progress.position)
        rate = staged_rate(step, self._first, self.settings, self.plan.d_model, self.ending.cooldown)
        optimizers.set_rate(self.state.optimizer, rate)
        finished = self.recovery.update(step, batches, stream)
        if self.state.ema:
            self.state.ema.update(self.model, step)
        tokens = self.shards.tokens
        progress.step, progress.position = step, after
        progress.tokens += tokens
        progress.unlogged.add_started(tokens=tokens, rate=rate)
        progress.add_finished(finished)

    def _synchronize(self) -> None:
        """Wait for pending updates: only those with finite gradients are logged and saved."""
        with self._time():
            self.progress.add_finished(self.recovery.synchronize())

    @contextmanager
    def _time(self) -> Iterator[None]:
        """Count the time inside the block as training time."""
        began = time.monotonic()
        yield
        seconds = time.monotonic() - began
        self.progress.seconds += seconds
        self.progress.unlogged.seconds += seconds

    def _log(self) -> None:
        """Log the metrics since the last log line."""
        self._synchronize()
        progress = self.progress
        speed = progress.unlogged.speed(self.ending.last_step - progress.step)
        speed["eta_seconds"] = min(speed["eta_seconds"], max(0.0, self.limit.left))
        event = {
            "event": "update",
            "step": progress.step,
            "epoch": progress.position.epoch,
            **progress.unlogged.means(),
            **speed,
            "tokens": progress.tokens,
            "seconds": progress.seconds,
            "last": self.ending.last_step,
        }
        progress.logged_loss, progress.unlogged = progress.loss, IntervalMetrics()
        if progress.diverged and not self._diverged:
            message = "the loss has grown from %.4g to %.4g: the training diverges"
            LOG.warning(message, progress.first_loss, progress.logged_loss)
        self._diverged = progress.diverged
        self.run.log(event)
        self.observer.on_log(event)
        hardware.return_memory()

    def _checkpoint(self) -> None:
        """Validate, save a checkpoint, and apply early stopping. Runs at scheduled steps only."""
        self._synchronize()
        self.progress.unvalidated = True
        with self.state.whole() as model:
            result = self._run_validation()
            self.progress.unvalidated = False
            event = {"event": "validation", "step": self.progress.step, "best": False, **result.metrics}
            if result.selectable:
                event["best"] = self.checkpoints.add(self.progress, model.state_dict(), result.metrics)
        self.run.log(event)
        self.run.add_samples(self.progress.step, result.samples)
        self.save()
        self.checkpoints.clear(self.progress)
        self.observer.on_validation(event, result.samples)

    def save(self) -> None:
        """Save the training state."""
        self._synchronize()
        self.progress.elapsed = self.limit.elapsed
        self._unsaved.warn()
        refuse_other_weights(self.model, self.progress.step)
        self.state.save(self.run)
        self._saved_at = self._now()

    def _run_validation(self) -> Validation:
        """Validate in the first process; all receive the metrics."""
        began = self.limit.clock()
        with self.state.whole() as model:
            if self.shards.world == 1:
                validation = self._validate_model(model)
            else:
                validation = Validation(**parallel.from_first(lambda: asdict(self._validate_model(model))))
                self.shards.agree()
        self.limit.validation = self.limit.clock() - began
        return validation

    def _validate_model(self, model: nn.Module) -> Validation:
        model.eval()
        # Several processes stop together, after the update that follows.
        abandoning = self._interrupt.abandoning() if self.shards.world == 1 else nullcontext()
        with torch.no_grad(), abandoning:
            result = self.plan.validate(model, self.progress.step)
        model.train()
        hardware.return_memory()
        return result

    # --- the end ------------------------------------------------------------------------------------

    def _earlier_outcome(self) -> Outcome | None:
        """Return the logged outcome of a finished run; None if unfinished, or if its model is damaged."""
        event = parallel.from_first(lambda: self.final.whole_end(self.progress) if self.done else None)
        if not event:
            return None
        return Outcome("finished", self.progress, event["weights"], event["metrics"])

    def _finish(self) -> Outcome:
        """Select the final weights in the first process; all receive the outcome."""
        average = self.state.average()
        with self.state.whole() as model:
            weights, metrics = parallel.from_first(lambda: self._select(model, average))
        return Outcome("finished", self.progress, weights, metrics)

    def _select(self, model: nn.Module, average: Weights | None) -> tuple[str, dict[str, float]]:
        return self.final.select(model, average, self.progress, lambda: self._validate_model(model).metrics)
