"""The process of a contestant in training: it receives requests to train and returns time and loss.

A contestant is a file beside this one that calls ``serve(load)``. It runs in its own environment, so nothing
here needs more than the standard library. The task is read from FOLDER/training.json: ``model`` (a size of
workload.py), ``vocab``, ``pad``, ``bos``, ``eos``, ``learning_rate``, ``label_smoothing``, ``clip_norm``,
``betas``, ``eps`` and ``batches``, each a list of sources (with the end symbol) and of targets (with begin
and end symbols), not padded.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

Ids = list[list[int]]


class Trainee(Protocol):
    """A model in training, its batches made ready beforehand.

    Attributes:
        parameters: how many numbers are trained.
        versions: of the libraries that matter.
    """

    parameters: int
    versions: dict[str, str]

    def update(self, number: int) -> tuple[float, int]:
        """Make one update from this batch; return the loss a token, and how many target tokens counted."""
        ...


def padded(rows: Sequence[Sequence[int]], pad: int, multiple: int = 1) -> Ids:
    """Return the rows at one length, that of the longest, rounded up to a multiple."""
    width = -(-max(len(row) for row in rows) // multiple) * multiple
    return [[*row, *[pad] * (width - len(row))] for row in rows]


def serve(load: Callable[[dict[str, Any], dict[str, Any]], Trainee]) -> None:
    """Load, say so, and answer requests until the input ends.

    The command line is FOLDER and the settings as JSON; a request ``{"batches": [0, 1]}`` asks for an update
    from each of these batches.
    """
    task = json.loads((Path(sys.argv[1]) / "training.json").read_text(encoding="utf-8"))
    answers = sys.stdout
    sys.stdout = sys.stderr  # libraries like to talk
    trainee = load(task, json.loads(sys.argv[2]))
    del task
    ready = {
        "parameters": trainee.parameters,
        "versions": trainee.versions,
        "ready_mib": round(peak_mib(), 1),
    }
    print(json.dumps(ready), file=answers, flush=True)
    for line in sys.stdin:
        start, cpu = time.perf_counter(), time.process_time()
        told = [trainee.update(number) for number in json.loads(line)["batches"]]
        answer = {
            "seconds": time.perf_counter() - start,
            "cpu": time.process_time() - cpu,
            "loss": sum(loss for loss, _ in told) / len(told),
            "tokens": sum(tokens for _, tokens in told),
            "peak_mib": peak_mib(),
        }
        print(json.dumps(answer), file=answers, flush=True)


def peak_mib() -> float:
    """Return the most memory that this process ever had resident, in MiB."""
    status = Path("/proc/self/status")
    for line in status.read_text().split("\n") if status.exists() else []:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    unit = 1024 if sys.platform == "linux" else 1024**2  # macOS counts bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
