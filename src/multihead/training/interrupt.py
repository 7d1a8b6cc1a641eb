"""Ctrl-C and a polite kill end a training between two updates, not inside one."""

import signal
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
