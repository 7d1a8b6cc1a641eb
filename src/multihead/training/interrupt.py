"""Ctrl-C and a polite kill end a training between two updates, not inside one."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """Whether somebody asked to stop."""

    def __init__(self) -> None:
        self.asked = False

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal; a second one ends the process at once."""
        self.asked = True
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def watched() -> Iterator[Interrupt]:
    """Watch for SIGINT and SIGTERM inside the block (in the main thread; elsewhere nothing is watched)."""
    interrupt = Interrupt()
    before = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, interrupt.ask)
    except ValueError:
        pass  # Python allows this in the main thread only.
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop_with_parent(*, every: float = 1.0) -> None:
    """Ask this process to stop (SIGTERM) as soon as the one that started it is gone, however that ended.

    Args:
        every: seconds between two looks.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
