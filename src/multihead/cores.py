"""How many processor cores this process may use."""

import math
import os
from collections.abc import Iterator
from pathlib import Path


def usable_cores(root: Path = Path("/")) -> int:
    """Return how many: those that it may run on, or the share of them that its container is limited to.

    A container that is given 2 of 64 cores sees all 64, and gets a thirtieth of its time on each: 64 threads
    would wait for each other most of the time.
    """
    seen = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([seen, *(max(1, math.ceil(share)) for share in _shares(root))])


def wanted_threads() -> int:
    """Return on how many threads to compute where nobody said: OMP_NUM_THREADS, or one for each core."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(said), usable_cores()) if said.isdecimal() and int(said) else usable_cores()


def wait_briefly() -> None:
    """Let threads that wait for each other give their core away soon; before PyTorch is imported.

    GCC's OpenMP has them ask for milliseconds whether they may go on, and where another program wants a
    core too, the one that they wait for does not get it: beside one busy program training took six
    times as long on two cores. Asking for a sixtieth of that time costs nothing that could be measured where
    there is no other (``benchmarks/beside_other_work.py``).
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "5000")


def _shares(root: Path) -> Iterator[float]:
    """Yield the limits, in cores, of the control groups that this process is in (man 7 cgroups)."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        top, names = root / "sys/fs/cgroup", ["cpu.max"]
        if controllers:  # version 1, where each has a tree of its own
            top, names = top / "cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
            if "cpu" not in controllers.split(","):
                continue
        # A limit holds for all groups below. Within a container its own group is the top of what is seen.
        parts = Path(group).parts[1:]
        for depth in range(len(parts) + 1):
            folder = top.joinpath(*parts[:depth])
            numbers = " ".join(_read(folder / name) for name in names).split()
            if len(numbers) == 2 and all(number.isdecimal() for number in numbers) and int(numbers[1]):
                yield int(numbers[0]) / int(numbers[1])


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""
