"""Memory of the C library: kept between products, or returned to the system."""

import contextlib
import ctypes
import os
import sys
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h of the GNU C library


def keep_memory() -> None:
    """Let the C library keep freed memory instead of returning it to the system after every product.

    Otherwise the kernel maps and zeroes the pages of every large result anew: a fifth of the time of a small
    model's training step. Has no effect with C libraries other than glibc.

    Also enlarge oneDNN's cache of compiled primitives, one per shape. The batches of a corpus have more
    shapes than its default of 1,024, and compiling them again took half of the time on two cores.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "8192")  # read at the first product
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # Some versions refuse more than 32 MiB. Setting the trim threshold alone would do harm: it switches off
    # the library's own adjustment of the mmap threshold.
    if mallopt is not None and (mallopt(_M_MMAP_THRESHOLD, 1 << 30) or mallopt(_M_MMAP_THRESHOLD, 1 << 25)):
        mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)


def return_memory() -> None:
    """Return the C library's free memory to the system; the counterpart of :func:`keep_memory`.

    Batches of many shapes fragment the heap: without an occasional call, training's memory grows to a
    multiple of what it needs. An occasional call has no measurable cost.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def free_memory() -> int:
    """Return the bytes of memory that new data can take; 0: unknown.

    On Linux, memory of caches that the system would give up counts as free, and a container's limit is kept.
    """
    limits = []
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(1024 * int(line.split()[1]))
    with contextlib.suppress(OSError, ValueError):  # "max": no limit
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(limits, default=0)
