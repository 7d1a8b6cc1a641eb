"""Recovery from a batch that cannot be trained on: a gradient that is not finite, or too little memory.

Both are decided before any weight changes, and recorded in ``Progress``: a resumed training decides the same.
"""

import gc
import itertools
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from multihead.batch import Batch
from multihead.data.stream import Stream, StreamPosition
from multihead.errors import UserError
from multihead.recipe.settings import OptimisationSettings
from multihead.system import hardware, parallel
from multihead.training.state import TrainingState
from multihead.training.update import NotFiniteUpdateError, Updater, UpdateStats, rows, split

MAX_NAMED = 8
"""Examples of a batch that an error names."""
REMEMBERED = 4
"""Updates whose examples can be named: on a GPU, an error comes a few updates late."""

LOG = logging.getLogger(__name__)


class Recovery:
    """Makes updates; skips or splits the batches that cannot be trained on as they are.

    Args:
        updater: makes the updates.
        state: the training state.
        settings: training settings.
        log: records an event in metrics.jsonl.
    """

    def __init__(
        self,
        updater: Updater,
        state: TrainingState,
        settings: OptimisationSettings,
        log: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self.updater, self.state, self.settings, self._log = updater, state, settings, log
        self._examples: dict[int, Callable[[], list[list[str]]]] = {}
        updater.parts = state.progress.parts

    def update(self, step: int, batches: Sequence[Batch], stream: Stream[Batch]) -> list[UpdateStats]:
        """Make an update; a skipped one changes no weight and has no statistics.

        Raises:
            UserError: the gradient is not finite, and no more batches may be skipped; there is not enough
                memory for a single example.
        """
        position, count = self.state.progress.position, self.settings.accumulate
        self._examples[step] = lambda: _name(stream, position, count)
        self._examples.pop(step - REMEMBERED, None)
        while True:
            try:
                return self.updater.update(step, batches)
            except NotFiniteUpdateError as error:
                self.updater.forget()
                self._skip(error, step, self._names(step, batches))
                return []
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                fault = str(error).split("\n")[0]
            # Outside the handler: its traceback holds the tensors of the failed pass.
            self._split(fault, step, batches)

    def synchronize(self) -> list[UpdateStats]:
        """See :meth:`Updater.synchronize`.

        Raises:
            UserError: a gradient was not finite.
        """
        try:
            return self.updater.synchronize()
        except NotFiniteUpdateError as error:
            raise _divergence_error(error, self._names(error.step, ())) from None

    # --- a gradient that is not finite --------------------------------------------------------------

    def _skip(self, error: NotFiniteUpdateError, step: int, names: list[str]) -> None:
        progress = self.state.progress
        if error.step != step or progress.skipped >= self.settings.skip_bad:
            raise _divergence_error(error, names) from None
        progress.skipped += 1
        self._log({"event": "skipped", "step": step, "skipped": progress.skipped, "examples": names})
        LOG.warning("update %d is skipped, its gradient is not finite: %s", step, ", ".join(names))

    def _names(self, step: int, batches: Sequence[Batch]) -> list[str]:
        """Return names of the examples that are to blame, else of all in the update, the first few."""
        if step not in self._examples:
            return []
        named = self._examples[step]()
        blamed = []
        if parallel.world() == 1:
            for number, (batch, names) in enumerate(zip(batches, named, strict=False)):
                blamed += [names[row] for row in self._bad_rows(step, number, batch) if row < len(names)]
        found = blamed or [name for names in named for name in names]
        more = len(found) - MAX_NAMED
        return [*found[:MAX_NAMED], *([f"and {more} more"] if more > 0 else [])]

    def _bad_rows(self, step: int, number: int, batch: Batch) -> list[int]:
        """Return the rows whose loss alone is not finite."""
        if (count := rows(batch)) < 2:
            return []
        found = []
        with torch.no_grad(), hardware.autocast(self.updater.device, self.updater.dtype):
            for row, part in enumerate(split(batch, count)):
                with self.updater.seed_micro_batch(step, number):
                    loss = self.updater.loss(part.to(self.updater.device), step)
                if not all(math.isfinite(float(term.sum)) for term in loss.values() if term.weight):
                    found.append(row)
        return found

    # --- too little memory --------------------------------------------------------------------------

    def _split(self, fault: str, step: int, batches: Sequence[Batch]) -> None:
        """Halve the parts in which batches are computed. Raises ``UserError`` where that is impossible."""
        self.updater.forget()
        gc.collect()
        if self.updater.device.type == "cuda":
            torch.cuda.empty_cache()
        parts, largest = self.updater.parts, max(map(rows, batches))
        if parallel.world() > 1 or parts >= largest:
            what = "one example" if largest > 1 else "a batch that cannot be split"
            what = "a batch of one of several processes" if parallel.world() > 1 else what
            raise UserError(
                f"there is not enough memory for {what} ({fault[:200]})",
                place=f"update {step}",
                remedy="Lower data.max_length, training.batch_tokens or the model's size.",
            )
        self.updater = self.updater.plain()
        self.updater.parts = self.state.progress.parts = min(2 * parts, largest)
        self._log({"event": "memory", "step": step, "parts": self.updater.parts})
        LOG.warning(
            "not enough memory for a batch: from update %d on each is computed in %d parts, with the same "
            "gradient. A lower training.batch_tokens with a higher training.accumulate avoids this.",
            step,
            self.updater.parts,
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Return True for the errors of Python and PyTorch about memory that cannot be had."""
    text = str(error)
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError)
        and any(sign in text for sign in ("can't allocate memory", "Cannot allocate memory", "out of memory"))
    )


def _divergence_error(error: NotFiniteUpdateError, names: list[str]) -> UserError:
    batch = f"; its batch: {', '.join(names)}" if names else ""
    remedy = (
        "Check these lines: --training.skip_bad 5 skips up to five such batches. If the loss rose before, "
        "lower training.learning_rate or raise training.warmup_steps, with a new --run folder."
    )
    return UserError(f"{error.fact}{batch}", remedy=remedy if names else error.remedy)


def _name(stream: Stream[Batch], position: StreamPosition, count: int) -> list[list[str]]:
    """Return the names of the examples of each of the ``count`` batches from a position on."""
    found: list[list[str]] = []
    epoch, first = position.epoch, position.batch
    while len(found) < count:
        plan = stream.cached_plan(epoch)
        found += [
            stream.names(indices) for indices in itertools.islice(plan, first, first + count - len(found))
        ]
        epoch, first = epoch + 1, 0
    return found
