"""Start several processes of a command here, with torch's elastic agent, and again if one is killed."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from multihead.errors import UserError
from multihead.system import plugins
from multihead.system.cores import usable_cores

RESTARTS = 3
"""Times that a training is started again after one of its processes was killed."""
BAD_INPUT = 2
FINAL = (BAD_INPUT, 130, 143, 128 + signal.SIGUSR1)
"""Exit codes of an error that the user can correct, and of an interrupted training: neither starts again."""
SHUTDOWN = 120
"""Seconds that an interrupted training has to save its state."""


def launch(processes: int, command: Sequence[str], log: Callable[[str], None]) -> int:
    """Run a command in several processes, and return their common exit code.

    Each has an equal part of the cores, unless OMP_NUM_THREADS says how many.

    Args:
        processes: their number.
        command: the command line after ``multihead``.
        log: receives a line for each new start.

    Raises:
        UserError: a process was killed, and again after each new start.
    """
    os.environ.update(plugins.child_environment())
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, usable_cores() // processes)))
    # The agent prints a table and a traceback of its own.
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    for restart in range(RESTARTS + 1):
        ended = _run(processes, command)
        if not ended:
            return 0
        # The agent ends the others by SIGTERM when one was killed; these may still save their state.
        killed = any(code < 0 and code != -signal.SIGTERM for code in ended.values())
        for code in FINAL if not killed else (BAD_INPUT,):
            if code in ended.values():
                return code
        number, code = min(
            ended.items(), key=lambda item: (item[1] >= 0, item[1] == -signal.SIGTERM, item[0])
        )
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"failed (exit code {code})"
        if restart < RESTARTS:
            log(f"process {number} {how}; starting all again ({restart + 1} of {RESTARTS})")
    raise UserError(
        f"process {number} {how}, after {RESTARTS} new starts",
        remedy="SIGKILL is often a lack of memory: start fewer processes, or use smaller batches.",
    )


def _run(processes: int, command: Sequence[str]) -> dict[int, int]:
    """Return the exit codes of the processes that failed, by number."""
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id="multihead",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        monitor_interval=0.05,
        shutdown_timeout=SHUTDOWN,
    )
    try:
        elastic_launch(config, sys.executable)("-m", "multihead", *command)
    except ChildFailedError as error:
        return {number: failure.exitcode for number, failure in error.failures.items()}
    except SignalException as error:
        return {0: 128 + error.sigval}
    return {}
