"""Time and memory of each kind of attention over the length of the text, with fitted exponents.

Only the operation is measured, forward and backward: one text, d_model 256, heads of width 64, one thread.
Each point has its own process (``python -m multihead.apps.studies.attention_cost KIND LENGTH``), so that
points do not share memory. Points are recorded one by one; the same call resumes.
"""

import contextlib
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn import attention
from multihead.nn.description import WindowSpec
from multihead.nn.parts.linear_attention import LinearAttention
from multihead.nn.parts.linformer import LinformerAttention, Projections
from multihead.nn.parts.longformer import LongformerScore
from multihead.nn.parts.reformer import LSHAttention, buckets_for
from multihead.nn.parts.window import WindowAttention
from multihead.run import files
from multihead.run.environment import environment
from multihead.system import disk, hardware
from multihead.system.safe_parsing import parse_json

HEADS, WIDTH, REACH, PROJECTED, ROUNDS, CHUNK = 4, 64, 64, 256, 4, 64
"""Heads and their width; half a window of 129; Linformer's k; Reformer's hash rounds and chunk."""
SHORT = 160
"""Length of the warm-up pass."""
LEAST_SECONDS = 2.0
"""Minimum time spent on each point; at least one pass."""
FIT_FROM = 1024
"""Smallest length for the fit of exponents: below it, constant costs dominate."""
RESULT, TABLE = "cost.json", "cost.md"

Operation = Callable[[Tensor, Tensor, Tensor], Tensor]
Point = dict[str, Any]
"""A measured point: ``seconds`` and ``bytes``, or ``skipped`` with the reason."""


def _linformer(n: int) -> nn.Module:
    return LinformerAttention(*Projections("key_value", n, PROJECTED).of_layer())


def _twice(score: nn.Module) -> Operation:
    """Longformer's heads have a local and a global vector each."""
    return lambda q, k, v: score(*(torch.cat([x, x], dim=-1) for x in (q, k, v)))


KINDS: Mapping[str, Callable[[int], Operation]] = {
    "full (matmul, softmax)": lambda n: lambda q, k, v: attention(q, k, v),
    "full (PyTorch's fused kernel)": lambda n: F.scaled_dot_product_attention,
    "window": lambda n: WindowAttention(REACH, REACH),
    "window, causal": lambda n: WindowAttention(2 * REACH, 0),
    "longformer": lambda n: _twice(LongformerScore(WindowSpec(REACH, REACH, places=(0,)))),
    "linformer": _linformer,
    "reformer": lambda n: LSHAttention(WIDTH, buckets=buckets_for(n, CHUNK), rounds=ROUNDS, chunk=CHUNK),
    "linear": lambda n: LinearAttention(causal=False),
    "linear, causal": lambda n: LinearAttention(causal=True),
}
"""The operations by name: length -> operation on q, k and v, (1, HEADS, n, WIDTH)."""
SQUARES = 4
"""Matrices of n x n that matmul-softmax-matmul holds at a time in the backward pass."""


def measure(kind: str, n: int, least: float = LEAST_SECONDS) -> Point:
    """Return the fastest pass forward and backward, in seconds, and the largest memory of one, in bytes."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    needed = SQUARES * HEADS * n * n * 4
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if kind == "full (matmul, softmax)" and needed > 0.8 * free:
        return {"skipped": f"needs {needed / 2**30:.0f} GiB"}
    _pass(kind, SHORT)()  # excludes what libraries load on first use
    before = _reset_peak()
    once = _pass(kind, n)
    seconds, peak = once(), _peak() - before
    hardware.keep_memory()  # as in training; before the peak it would blur it
    until = time.perf_counter() + least
    while time.perf_counter() < until:
        seconds = min(seconds, once())
    return {"seconds": seconds, "bytes": peak}


def _pass(kind: str, n: int) -> Callable[[], float]:
    """Make the inputs; return a function that runs forward and backward and returns the seconds."""
    run = KINDS[kind](n)
    q, k, v = (torch.randn(1, HEADS, n, WIDTH, requires_grad=True) for _ in range(3))
    gradient = torch.randn(1, HEADS, n, WIDTH)

    def once() -> float:
        began = time.perf_counter()
        run(q, k, v).backward(gradient)  # type: ignore[no-untyped-call]
        return time.perf_counter() - began

    return once


def _reset_peak() -> int:
    """Reset the peak of resident memory (Linux only); return the peak so far."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def _peak() -> int:
    """The largest resident memory since the last reset, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").split("\n"):
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure_all(
    folder: Path, lengths: Sequence[int], say: Callable[[str], None], kinds: Sequence[str] = tuple(KINDS)
) -> dict[str, dict[int, Point]]:
    """Measure every point that ``cost.json`` in the folder lacks; write it, and the table ``cost.md``.

    Args:
        folder: the folder of the results.
        lengths: lengths of the text.
        say: called with a line for each new point.
        kinds: names of ``KINDS``.
    """
    files.make_folder(folder)
    points = read(folder / RESULT)
    for n in lengths:
        for kind in kinds:
            if n in points.setdefault(kind, {}):
                continue
            points[kind][n] = _in_a_process(kind, n)
            files.write_text(folder / RESULT, _to_json(points))
            say(f"{kind}, {n:,} positions: {_show(points[kind][n])}")
    files.write_text(folder / TABLE, table(points))
    return points


def _in_a_process(kind: str, n: int) -> Point:
    command = [sys.executable, "-m", "multihead.apps.studies.attention_cost", kind, str(n)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().split("\n")[-1] or f"exit code {done.returncode}"
        return {"skipped": last[:200]}
    point: Point = json.loads(done.stdout)
    return point


def read(file: Path) -> dict[str, dict[int, Point]]:
    """Return the points of an earlier run; empty if the file is missing or damaged."""
    try:
        stored: Any = parse_json(disk.content(file))["points"]
        return {kind: {int(n): dict(point) for n, point in of.items()} for kind, of in stored.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _to_json(points: Mapping[str, Mapping[int, Point]]) -> str:
    about = {
        "heads": HEADS,
        "width": WIDTH,
        "window": 2 * REACH + 1,
        "projected": PROJECTED,
        "hash_rounds": ROUNDS,
        "chunk": CHUNK,
        "threads": 1,
        "environment": environment({}),
        "exponents": {kind: exponents(of) for kind, of in points.items()},
    }
    return json.dumps({**about, "points": points}, indent=2) + "\n"


def exponents(points: Mapping[int, Point]) -> dict[str, float]:
    """Return a in n^a, for seconds and bytes, by least squares on the logarithms; {} with too few points."""
    fitted = {}
    for what in ("seconds", "bytes"):
        measured = [(n, p[what]) for n, p in points.items() if n >= FIT_FROM and p.get(what, 0) > 0]
        if len(measured) >= 3:
            sizes, values = zip(*measured, strict=True)
            fitted[what] = round(float(np.polyfit(np.log(sizes), np.log(values), 1)[0]), 2)
    return fitted


def table(points: Mapping[str, Mapping[int, Point]]) -> str:
    """The measurements as Markdown: milliseconds and MiB by length, and the exponents."""
    lengths = sorted({n for of in points.values() for n in of})
    head = ["forward and backward", *(f"n = {n:,}" for n in lengths), "time", "memory"]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    for kind, of in points.items():
        fitted = exponents(of)
        cells = [_show(of[n]) if n in of else "" for n in lengths]
        fits = [f"n^{fitted[what]}" if what in fitted else "" for what in ("seconds", "bytes")]
        rows.append([kind, *cells, *fits])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _show(point: Point) -> str:
    if "seconds" not in point:
        return str(point.get("skipped", ""))
    memory = point["bytes"] / 2**20
    digits = 0 if memory >= 10 else 1
    return f"{_round(1000 * point['seconds'])} ms, {memory:.{digits}f} MiB"


def _round(x: float) -> str:
    return f"{x:,.{max(0, 2 - math.floor(math.log10(max(x, 1e-9))))}f}" if x < 100 else f"{x:,.0f}"


def main(arguments: Sequence[str]) -> None:
    """Measure one point and print it as JSON."""
    kind, n = arguments
    print(json.dumps(measure(kind, int(n))))


if __name__ == "__main__":
    main(sys.argv[1:])
