"""Decides when a training ends: cool-down of schedule wsd, time limit, request of the user."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from multihead.errors import UserError
from multihead.recipe.settings import OptimisationSettings
from multihead.training.progress import PATIENCE, TrainingProgress
from multihead.training.schedules import Cooldown, cooldown_after, latest_cooldown

CANDIDATES = 3
"""Final validations: of the average, the best and the last weights."""
MARGIN = 0.03
"""Part of the time limit kept for saving and for reports."""
BOUND = "training.steps"
"""The reason of an end at the last step that the settings allow begins with this."""
TIME = "time for a cool-down within "
"""The reason of a cool-down that ends with the time begins with this."""
TIME_UP = "the time is up"
"""The reason of an end without a cool-down, or within one."""
ASKED = "as asked"
"""The reason of an end that the user asked for."""
SHORTENED, LEAST_UPDATES = 0.05, 10
"""Part of its rest by which a cool-down is shortened, at least; updates to judge the pace by."""
CLOSE = 60.0
"""With fewer seconds left than this, a validation is timed before training starts."""

Clock = Callable[[], float]


@dataclass
class TimeLimit:
    """The time that a training may take, and has taken.

    Attributes:
        minutes: the limit; 0: none.
        clock: returns seconds.
        started: the clock's reading when the command started.
        before: seconds of earlier starts.
        validation: seconds of the last validation; 0 before the first.
    """

    minutes: float
    clock: Clock = time.monotonic
    started: float = 0.0
    before: float = 0.0
    validation: float = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds of all starts."""
        return self.before + self.clock() - self.started

    @property
    def left(self) -> float:
        """Seconds until the final validations have to begin; infinite without a limit."""
        if not self.minutes:
            return float("inf")
        limit = 60 * self.minutes
        return limit * (1 - MARGIN) - CANDIDATES * self.validation - self.elapsed

    def check_first(self, validate: Callable[[], object]) -> None:
        """Refuse a limit too short for one update and one validation.

        Args:
            validate: validates the untrained model.

        Raises:
            UserError: the time is over before the first update.
        """
        prepared = self.elapsed
        if self.left < CLOSE:
            began = self.clock()
            validate()
            self.validation = (
                self.clock() - began
            ) / CANDIDATES  # of a model that does not know when to stop
        if self.left <= 0:
            needed = (self.elapsed + CANDIDATES * self.validation) / 60 / (1 - MARGIN)
            raise UserError(
                f"{self.minutes:g} minutes are too short: preparation took {prepared:.0f} s, "
                f"and the validation at the end takes about {CANDIDATES * self.validation:.0f} s",
                place="--minutes",
                remedy=f"Give at least {max(2 * needed, 0.1):.1f} minutes.",
            )


class Ending:
    """Plans the end of a training. Decisions are recorded in ``TrainingProgress``, so a resume repeats them.

    Args:
        settings: training settings.
        progress: progress so far; written to.
        limit: the time limit.
    """

    def __init__(self, settings: OptimisationSettings, progress: TrainingProgress, limit: TimeLimit) -> None:
        self.settings, self.progress, self.limit = settings, progress, limit
        self._first_step, self._began = progress.step, limit.clock()
        self._cooling = (progress.step, self._began)

    @property
    def cooldown(self) -> Cooldown | None:
        """The cool-down, once it is due."""
        return Cooldown(*self.progress.cooldown) if self.progress.ending else None

    @property
    def last_step(self) -> int:
        """The last update, as far as is known now."""
        return self.cooldown.last if self.cooldown else self.settings.steps

    @property
    def done(self) -> bool:
        """True if no update is left."""
        return self.progress.step >= self.last_step or bool(self.progress.stopped)

    def plan(self, *, asked: bool) -> bool:
        """Start the cool-down, or stop, where it is time to.

        Args:
            asked: the user asked for the end.

        Returns:
            True if something was decided, which is to be saved.
        """
        progress, wsd = self.progress, self.settings.schedule == "wsd"
        if wsd and progress.stopped.startswith(PATIENCE):
            why, progress.stopped = progress.stopped, ""
            return self._start(why)
        if self.done:
            return False
        if progress.step and self.limit.left <= 0:
            progress.stopped = TIME_UP
            return True
        if progress.ending.startswith(TIME):
            return self._shorten()
        if not wsd:
            progress.stopped = ASKED if asked else ""
            return asked
        if asked:
            return self._start(ASKED)
        latest = latest_cooldown(self.settings)
        if progress.step >= latest.first:
            return self._start(f"{BOUND} {latest.last:,}", Cooldown(progress.step, latest.last))
        if self._out_of_time():
            return self._start(f"{TIME}{self.limit.minutes:g} minutes")
        return False

    def _start(self, why: str, cooldown: Cooldown | None = None) -> bool:
        """Start the cool-down after this step, unless it has started."""
        progress = self.progress
        if progress.ending:
            return False
        first, last = cooldown or cooldown_after(progress.step, self.settings)
        progress.cooldown, progress.ending = (first, min(last, self.settings.steps)), why
        self._cooling = (progress.step, self.limit.clock())
        return True

    def _shorten(self) -> bool:
        """End the cool-down earlier where the machine has grown too slow for its rest."""
        progress, (first_step, began) = self.progress, self._cooling
        updates = progress.step - first_step
        if updates < LEAST_UPDATES:
            return False
        first, last = progress.cooldown
        rest = last - progress.step
        enough = int(self.limit.left * updates / (self.limit.clock() - began))
        if enough < 1 or rest - enough < max(2, SHORTENED * rest):
            return False
        progress.cooldown = first, progress.step + enough
        return True

    def _out_of_time(self) -> bool:
        """Return True once the rest of the time is just enough for the cool-down."""
        updates = self.progress.step - self._first_step
        if not self.limit.minutes or not updates:
            return False
        pace = (self.limit.clock() - self._began) / updates
        # After one update more it would be too late.
        first, last = cooldown_after(self.progress.step + 1, self.settings)
        return self.limit.left <= pace * (last - first + 1)
