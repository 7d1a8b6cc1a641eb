"""Maps a function over items in several processes, in the order of the items."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_all_start_methods, get_context
from typing import Any, TypeVar

from multihead.errors import UserError

WAITING = 4
"""Queued items per process: enough that none is idle, few enough to save memory."""

T = TypeVar("T")
R = TypeVar("R")

_functions: dict[int, Callable[[Any], Any]] = {}
"""Functions by number: processes inherit them when they fork, so that they need not be sent."""


def in_processes(function: Callable[[T], R], items: Iterable[T], processes: int) -> Iterator[tuple[T, R]]:
    """Yield each item with the function's result, in order, independent of the number of processes.

    Args:
        function: a function of an item alone.
        items: the items; read no further ahead than a few for each process.
        processes: number of processes; 1 computes in this one.

    Raises:
        UserError: a process was killed.
    """
    if processes <= 1 or "fork" not in get_all_start_methods():
        yield from ((item, function(item)) for item in items)
        return
    number = id(function)
    _functions[number] = function
    pending: deque[tuple[T, Future[R]]] = deque()
    try:
        with ProcessPoolExecutor(
            processes, get_context("fork"), initializer=_end_with, initargs=(os.getpid(),)
        ) as pool:
            try:
                for item in items:
                    pending.append((item, pool.submit(_call, number, item)))
                    if len(pending) > WAITING * processes:
                        first, result = pending.popleft()
                        yield first, result.result()
                while pending:
                    first, result = pending.popleft()
                    yield first, result.result()
            finally:
                pool.shutdown(cancel_futures=True)
    except BrokenProcessPool:
        fact, remedy = "a process that prepared data was killed", "Often memory is short: use fewer."
        raise UserError(fact, place="data.processes", remedy=remedy) from None
    finally:
        del _functions[number]


def _call(number: int, item: Any) -> Any:
    return _functions[number](item)


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, however it ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
