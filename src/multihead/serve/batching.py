"""Dynamic batching: requests that arrive while a batch is translated form the next batch."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Self

from multihead.generation import Translation
from multihead.settings import SearchSettings

Translate = Callable[[Sequence[str], SearchSettings], list[Translation]]
"""Translates lines, one sentence each, into the same number of translations."""


class BusyError(Exception):
    """The queue is full or closed."""


@dataclass(frozen=True)
class _Job:
    lines: Sequence[str]
    settings: SearchSettings
    done: Future[list[Translation]] = field(default_factory=Future)


class Batcher:
    """Queue in front of a translator, processed by a worker thread.

    No request waits for a batch to fill up: when the translator becomes free, everything in the queue is one
    batch. A single request has the lowest latency; concurrent requests share their search steps.

    Args:
        translate: called from the worker thread only.
        max_lines: limit of a batch.
        max_waiting: limit of the queue, in lines; further requests are refused.
    """

    def __init__(self, translate: Translate, *, max_lines: int = 1024, max_waiting: int = 16_384) -> None:
        self._translate, self._max_lines, self._max_waiting = translate, max_lines, max_waiting
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="translating", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, lines: Sequence[str], settings: SearchSettings) -> Future[list[Translation]]:
        """Queue lines for translation; the future's result is their translations, in order.

        Raises:
            BusyError: the queue is full or closed.
        """
        job = _Job(lines, settings)
        with self._changed:
            waiting = sum(len(other.lines) for other in self._jobs)
            if self._closed or (self._jobs and waiting + len(lines) > self._max_waiting):
                raise BusyError
            self._jobs.append(job)
            self._changed.notify()
        return job.done

    def close(self) -> None:
        """Accept no more requests; those in the queue are still translated."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while jobs := self._next_batch():
            self._answer(jobs)

    def _next_batch(self) -> list[_Job]:
        """Wait for the next batch, whose jobs all have the settings of the first; empty when closed."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._jobs or self._closed)
                if not self._jobs:
                    return []
                # Cancelled jobs are dropped here; jobs of the batch can no longer be cancelled.
                if taken := [job for job in self._take() if job.done.set_running_or_notify_cancel()]:
                    return taken

    def _take(self) -> list[_Job]:
        """Remove the jobs of a batch from the queue."""
        taken: list[_Job] = []
        rest: deque[_Job] = deque()
        lines = 0
        for job in self._jobs:
            fits = not taken or (
                job.settings == taken[0].settings
                and lines + len(job.lines) <= self._max_lines
                and job.settings.method != "sample"  # samples depend on a line's number in the batch
            )
            (taken if fits else rest).append(job)
            lines += len(job.lines) if fits else 0
        self._jobs = rest
        return taken

    def _answer(self, jobs: Sequence[_Job]) -> None:
        """Translate jobs together; if that fails, one by one, so that only the faulty job gets the error."""
        try:
            found = iter(self._translate([line for job in jobs for line in job.lines], jobs[0].settings))
        except BaseException as error:  # the thread must survive: other requests depend on it
            if len(jobs) == 1:
                jobs[0].done.set_exception(error)
                return
            for job in jobs:
                self._answer([job])
            return
        for job in jobs:
            job.done.set_result([next(found) for _ in job.lines])
