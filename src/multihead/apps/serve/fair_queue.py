"""Fair scheduling of translations: large requests do not delay small ones.

Dynamic batching: requests that arrive while a batch is translated share the next one. A batch takes one line
of each client in turn (round-robin), up to a cost that is translated in about ``BATCH_SECONDS``. A large
request is therefore translated in pieces: other requests are served between them, and the rest is dropped
once its client has left or its deadline has passed.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Self

from multihead.recipe.settings import SearchSettings
from multihead.search.phrase import Phrase
from multihead.search.plain import StoppedError, stop_when
from multihead.tasks.translation.lines.translation import Translation

Forced = tuple[str, Sequence[Phrase]]
"""Prefix of a translation, and phrases that it must contain."""
Translate = Callable[[Sequence[str], SearchSettings, Sequence[Forced] | None], list[Translation]]
"""Translates lines of one sentence each; the last argument constrains each translation."""
NOTHING: Forced = ("", ())

BATCH_SECONDS = 0.25
"""Duration that the cost of a batch is adjusted to."""
FIRST_COST, LEAST_COST, MOST_COST = 4_000.0, 300.0, 10_000_000.0
"""Cost of the first batch, and its bounds; in characters times beam size, see ``_cost``."""


class BusyError(Exception):
    """The queue is full or closed."""


class DeadlineError(Exception):
    """The deadline of a request passed before its lines were translated."""


@dataclass(frozen=True)
class Work:
    """Lines to translate.

    Attributes:
        translate: the translator's function.
        lines: one sentence each.
        settings: search settings.
        client: identifies the client, for fairness.
        forced: parts of each line's translation; None: none.
        deadline: time (``time.monotonic``) after which nobody waits for the result.
        key: works with equal keys and settings share batches; None: with the same function.
    """

    translate: Translate
    lines: Sequence[str]
    settings: SearchSettings
    client: str = ""
    forced: Sequence[Forced] | None = None
    deadline: float = float("inf")
    key: Hashable = None

    def shares(self, other: "Work") -> bool:
        """Return whether lines of both may be in one batch."""
        same = self.translate == other.translate if self.key is None else self.key == other.key
        return same and self.settings == other.settings and self.settings.method != "sample"


@dataclass(eq=False)
class _Job:
    work: Work
    done: Future[list[Translation]] = field(default_factory=Future)
    translations: list[Translation] = field(default_factory=list)
    position: int = 0

    @property
    def over(self) -> bool:
        """Return True if nobody waits for the result any more."""
        return self.done.done() or time.monotonic() > self.work.deadline

    @property
    def left(self) -> int:
        return len(self.work.lines) - self.position


class FairQueue:
    """Queue in front of the translators of one machine, served by one thread.

    Args:
        max_waiting: limit of the queue in lines; further requests are refused.
        on_batch: called after each batch with its number of lines and its duration in seconds.
    """

    def __init__(
        self,
        *,
        max_waiting: int = 16_384,
        on_batch: Callable[[int, float], object] = lambda lines, seconds: None,
    ) -> None:
        self._max_waiting, self._on_batch = max_waiting, on_batch
        self._clients: dict[str, deque[_Job]] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._cost = FIRST_COST
        self._thread = threading.Thread(target=self._run, name="translating", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def waiting(self) -> int:
        """Number of lines that wait."""
        with self._changed:
            return sum(job.left for jobs in self._clients.values() for job in jobs)

    def submit(self, work: Work) -> Future[list[Translation]]:
        """Queue lines; the future's result is their translations, in order. It can be cancelled at any time.

        Raises:
            BusyError: the queue is full or closed.
        """
        job = _Job(work)
        if not work.lines:
            job.done.set_result([])
            return job.done
        with self._changed:
            waiting = sum(other.left for jobs in self._clients.values() for other in jobs)
            if self._closed or (waiting and waiting + len(work.lines) > self._max_waiting):
                raise BusyError
            self._clients.setdefault(work.client, deque()).append(job)
            self._changed.notify()
        return job.done

    def close(self) -> None:
        """Accept no more requests; those in the queue are still translated."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._clients or self._closed)
                if not self._clients:
                    return
                batch = self._next_batch()
            if batch:
                began = time.perf_counter()
                self._answer(batch)
                seconds = time.perf_counter() - began
                self._adjust(batch, seconds)
                self._on_batch(sum(count for _, _, count in batch), seconds)

    def _next_batch(self) -> "list[_Part]":
        """Take lines of the next client and lines that can share its batch, one per client in turn."""
        self._drop_finished()
        if not self._clients:
            return []
        client, jobs = next(iter(self._clients.items()))
        first = jobs[0].work
        alone = first.settings.method == "sample"  # samples depend on a line's number in the batch
        if alone:
            counts = {jobs[0]: jobs[0].left}
        else:
            lanes = [deque(job for job in of if job.work.shares(first)) for of in self._clients.values()]
            counts = self._shared_among([lane for lane in lanes if lane])
        batch = [(job, job.position, count) for job, count in counts.items()]
        for job, _, count in batch:
            job.position += count
        jobs.rotate(-1)
        self._clients[client] = self._clients.pop(client)  # the next batch begins with another client
        return batch

    def _shared_among(self, lanes: Sequence[deque[_Job]]) -> dict[_Job, int]:
        """Return the number of lines of each job in a batch."""
        counts: dict[_Job, int] = {}
        cost = 0.0
        for job in _in_turn(lanes):
            cost += _cost(job.work, job.position + counts.get(job, 0))
            if counts and cost > self._cost:
                break
            counts[job] = counts.get(job, 0) + 1
        return counts

    def _drop_finished(self) -> None:
        """Remove finished and abandoned jobs."""
        for client, jobs in list(self._clients.items()):
            for job in jobs:
                if job.left and job.over:
                    _fail(job, DeadlineError())
            live = deque(job for job in jobs if job.left and not job.over)
            if live:
                self._clients[client] = live
            else:
                del self._clients[client]

    def _adjust(self, batch: "Sequence[_Part]", seconds: float) -> None:
        """Scale the cost of a batch towards ``BATCH_SECONDS``."""
        used = sum(_cost(job.work, start + i) for job, start, count in batch for i in range(count))
        if seconds > BATCH_SECONDS:
            aimed = used * BATCH_SECONDS / seconds
        elif used > self._cost / 2:
            aimed = self._cost * min(2.0, BATCH_SECONDS / max(seconds, 1e-6))
        else:
            return  # a partial batch predicts little about a full one
        self._cost = min(MOST_COST, max(LEAST_COST, (self._cost + aimed) / 2))

    def _answer(self, batch: "Sequence[_Part]") -> None:
        """Translate lines together; if that fails, job by job, so that only the faulty one gets the error."""
        work = batch[0][0].work
        lines = [line for job, start, count in batch for line in job.work.lines[start : start + count]]
        forced = [constraint for part in batch for constraint in _force(*part)]
        constraints = forced if any(constraint != NOTHING for constraint in forced) else None
        try:
            with stop_when(lambda: all(job.over for job, _, _ in batch)):
                translations = iter(work.translate(lines, work.settings, constraints))
        except StoppedError:
            for job, _, _ in batch:
                _fail(job, DeadlineError())
            return
        except BaseException as error:  # the thread must survive: other requests depend on it
            if len(batch) == 1:
                _fail(batch[0][0], error)
                return
            for part in batch:
                self._answer([part])
            return
        for job, _, count in batch:
            job.translations += [next(translations) for _ in range(count)]
            if len(job.translations) == len(job.work.lines) and job.done.set_running_or_notify_cancel():
                job.done.set_result(job.translations)


_Part = tuple[_Job, int, int]
"""A job, its first line in a batch, and the number of its lines."""


def _in_turn(lanes: Sequence[deque[_Job]]) -> Iterator[_Job]:
    """Yield jobs, one for each line: the clients in turn, and the jobs of each client in turn."""
    left = {job: job.left for lane in lanes for job in lane}
    current = deque(lanes)
    while current:
        lane = current.popleft()
        job = lane.popleft()
        yield job
        left[job] -= 1
        if left[job]:
            lane.append(job)
        if lane:
            current.append(lane)


def _cost(work: Work, index: int) -> float:
    beam = work.settings.beam_size if work.settings.method == "beam" else 1
    return (len(work.lines[index]) + 16) * float(beam)


def _force(job: _Job, start: int, count: int) -> Sequence[Forced]:
    return [NOTHING] * count if job.work.forced is None else job.work.forced[start : start + count]


def _fail(job: _Job, error: BaseException) -> None:
    job.position = len(job.work.lines)
    if not job.done.done() and job.done.set_running_or_notify_cancel():
        job.done.set_exception(error)
