"""Requests that wait are translated together: while one batch is searched, the next one gathers."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Self

from multihead.generation import Translation
from multihead.settings import SearchSettings

Translate = Callable[[Sequence[str], SearchSettings], list[Translation]]
"""From lines, a sentence each, to as many translations."""


class BusyError(Exception):
    """So much waits already that nothing more is taken."""


@dataclass(frozen=True)
class _Job:
    lines: Sequence[str]
    settings: SearchSettings
    done: Future[list[Translation]] = field(default_factory=Future)


class Batcher:
    """A translator behind a queue, worked off by a thread of its own.

    Nobody is made to wait for company: whatever is there when the translator becomes free is one batch. So a
    request alone is answered as fast as can be, and many at once share their steps.

    Args:
        translate: is called from the thread only.
        most_lines: in one batch.
        most_waiting: lines that may wait; what comes after them is refused.
    """

    def __init__(self, translate: Translate, *, most_lines: int = 1024, most_waiting: int = 16_384) -> None:
        self._translate, self._most_lines, self._most_waiting = translate, most_lines, most_waiting
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="translating", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, lines: Sequence[str], settings: SearchSettings) -> Future[list[Translation]]:
        """Queue lines to be translated; the result holds their translations, in order.

        Raises:
            BusyError: too much waits already, or the queue is closed.
        """
        job = _Job(lines, settings)
        with self._changed:
            waiting = sum(len(other.lines) for other in self._jobs)
            if self._closed or (self._jobs and waiting + len(lines) > self._most_waiting):
                raise BusyError
            self._jobs.append(job)
            self._changed.notify()
        return job.done

    def close(self) -> None:
        """Take nothing more; what waits is still translated."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while jobs := self._next():
            self._answer(jobs)

    def _next(self) -> list[_Job]:
        """Return the jobs of the next batch, all with the settings of the first; none when all is over."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._jobs or self._closed)
                if not self._jobs:
                    return []
                # Those that are taken cannot be cancelled any more; those that nobody waits for are dropped.
                if taken := [job for job in self._taken() if job.done.set_running_or_notify_cancel()]:
                    return taken

    def _taken(self) -> list[_Job]:
        """Take the jobs of a batch out of the queue."""
        taken: list[_Job] = []
        rest: deque[_Job] = deque()
        lines = 0
        for job in self._jobs:
            fits = not taken or (
                job.settings == taken[0].settings
                and lines + len(job.lines) <= self._most_lines
                and job.settings.method != "sample"  # which draws by a line's number in the batch
            )
            (taken if fits else rest).append(job)
            lines += len(job.lines) if fits else 0
        self._jobs = rest
        return taken

    def _answer(self, jobs: Sequence[_Job]) -> None:
        """Translate jobs together; if that fails, each by itself, so that only the guilty one is told."""
        try:
            found = iter(self._translate([line for job in jobs for line in job.lines], jobs[0].settings))
        except BaseException as error:  # whatever it is, others wait for this thread
            if len(jobs) == 1:
                jobs[0].done.set_exception(error)
                return
            for job in jobs:
                self._answer([job])
            return
        for job in jobs:
            job.done.set_result([next(found) for _ in job.lines])
