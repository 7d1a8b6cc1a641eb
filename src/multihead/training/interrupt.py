"""Graceful interruption: SIGINT, SIGTERM and SIGUSR1 stop training after the current update.

A validation, which may take minutes, is abandoned at once; the resumed training makes it again. SIGUSR1 is
the warning of a cluster's scheduler (``sbatch --signal=USR1@60``).
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


class Abandoned(BaseException):
    """Raised in a validation that is abandoned."""


class Interrupt:
    """A flag that a signal sets.

    Attributes:
        requested: True once a signal came.
        number: its number; 0 before.
    """

    def __init__(self) -> None:
        self.requested = False
        self.number = 0
        self._abandon = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal. A second one terminates the process at once."""
        self.requested, self.number = True, number
        signal.signal(number, signal.SIG_DFL)
        if self._abandon:
            self._abandon = False
            raise Abandoned

    @contextmanager
    def abandoning(self) -> Iterator[None]:
        """Raise ``Abandoned`` when a signal comes, or has come, while the block runs."""
        self._abandon = True
        try:
            if self.requested:
                raise Abandoned
            yield
        finally:
            self._abandon = False


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Catch ``SIGNALS`` inside the block; has no effect outside the main thread."""
    interrupt = Interrupt()
    before = {}
    try:
        for number in SIGNALS:
            before[number] = signal.signal(number, interrupt.handle)
    except ValueError:
        pass  # not the main thread
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop_with_parent(*, every: float = 1.0) -> None:
    """Send this process SIGTERM once its parent process has ended, for whatever reason.

    Args:
        every: polling interval in seconds.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
