"""Graceful interruption: SIGINT and SIGTERM stop training after the current update."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """A flag that a signal sets."""

    def __init__(self) -> None:
        self.requested = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal. A second one terminates the process at once."""
        self.requested = True
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Catch SIGINT and SIGTERM inside the block; has no effect outside the main thread."""
    interrupt = Interrupt()
    before = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
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
