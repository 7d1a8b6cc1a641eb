"""CPU cores available to this process, and how its threads wait."""

import math
import os
from collections.abc import Iterator
from pathlib import Path


def usable_cores(root: Path = Path("/")) -> int:
    """Return the number of cores in this process's affinity mask, or its container's CPU limit if lower.

    A container limited to 2 of 64 cores still sees all 64. With 64 threads, it would get a thirtieth of each
    core, and the threads would spend most of their time waiting for each other.
    """
    visible = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([visible, *(max(1, math.ceil(limit)) for limit in _cpu_limits(root))])


def default_threads() -> int:
    """Return the default number of threads: OMP_NUM_THREADS, or one per core."""
    variable = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(variable), usable_cores()) if variable.isdecimal() and int(variable) else usable_cores()


def wait_briefly() -> None:
    """Limit the time that OpenMP threads spin at a barrier. Must be called before PyTorch is imported.

    GCC's OpenMP spins for milliseconds. Under load, the spinning threads keep the core from the thread they
    wait for: with one other busy program, training on two cores took six times as long. Spinning for a
    sixtieth of that time has no measurable cost on an idle machine (``benchmarks/beside_other_work.py``).
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "5000")


def use_one_blas_thread() -> None:
    """Let NumPy multiply in one thread. Must be called before NumPy is imported.

    The products here are small, and OpenBLAS's threads spin between them: the attention that places tags took
    4.4 times the processor time in two threads. On ARM, PyTorch multiplies by OpenBLAS too: nothing is set.
    """
    if os.uname().machine == "x86_64":
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _cpu_limits(root: Path) -> Iterator[float]:
    """Yield the CPU limits, in cores, of this process's control groups (man 7 cgroups)."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        top, names = root / "sys/fs/cgroup", ["cpu.max"]
        if controllers:  # version 1: one hierarchy per controller
            top, names = top / "cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
            if "cpu" not in controllers.split(","):
                continue
        # A limit applies to all groups below it. Inside a container, the visible root is its own group.
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
