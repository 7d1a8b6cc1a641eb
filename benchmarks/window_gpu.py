"""Time and memory of a sliding window on a GPU, beside full attention and PyTorch's other ways to a window.

    python benchmarks/window_gpu.py --out results/window-gpu.json

One text, 16 heads of width 64, bf16, forward and backward; the ways are interleaved (A B C D A B C D), times
are medians over rounds of several runs each, memory is the peak above what the inputs hold. Ways: the Triton
kernel (``nn/kernels/triton_window.py``); PyTorch's fused attention over every position; the same with the
window as a mask; FlexAttention with a block mask, compiled, which skips blocks outside the window as the
kernel does (its mask is made once, and not timed).
"""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import torch
import torch.nn.functional as F
import tyro
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from multihead.nn.description import WindowSpec
from multihead.nn.parts.window import band, window_attention
from multihead.run.environment import environment
from multihead.system.gpu import kernel

HEADS, WIDTH = 16, 64
MASK_LIMIT = 16_384
"""Longest text of which a mask of all pairs is made."""
Way = Callable[[], Tensor]


def main(
    lengths: tuple[int, ...] = (512, 1024, 2048, 4096, 8192, 16384, 65536),
    before: int = 64,
    after: int = 64,
    rounds: int = 5,
    runs: int = 10,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
) -> None:
    """Measure, print, write."""
    rows = []
    for n in lengths:
        torch.manual_seed(n)
        q, k, v = (
            torch.randn(1, HEADS, n, WIDTH, device="cuda", dtype=torch.bfloat16, requires_grad=True)
            for _ in range(3)
        )
        gradient = torch.randn_like(q)
        if kernel("nn.kernels.triton_window", q, k, v) is None:
            raise SystemExit("The Triton kernel of the window does not work here.")
        ways = _ways(q, k, v, WindowSpec(before, after))
        _compare(ways)
        measured = _measured(ways, [q, k, v], gradient, rounds, runs)
        for name, (seconds, mib) in measured.items():
            rows.append({"n": n, "way": name, "ms": round(1e3 * seconds, 3), "mib": round(mib, 1)})
            print(f"n = {n:6,}  {name:32} {1e3 * seconds:9.3f} ms {mib:9.1f} MiB", flush=True)
    told = {
        "command": f"python benchmarks/window_gpu.py --before {before} --after {after}",
        "gpu": torch.cuda.get_device_name(),
        "heads": HEADS,
        "width": WIDTH,
        "before": before,
        "after": after,
        "rows": rows,
        "environment": environment({}),
    }
    if out:
        out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _ways(q: Tensor, k: Tensor, v: Tensor, window: WindowSpec) -> dict[str, Way]:
    n = q.shape[2]

    def near(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return (j >= i - window.before) & (j <= i + window.after)

    blocks = create_block_mask(near, None, None, n, n, device="cuda")
    flex = torch.compile(flex_attention, dynamic=False)
    ways: dict[str, Way] = {
        "window (Triton)": lambda: window_attention(q, k, v, window),
        "full attention (fused)": lambda: F.scaled_dot_product_attention(q, k, v),
        "FlexAttention, block mask": lambda: flex(q, k, v, block_mask=blocks),
    }
    if n <= MASK_LIMIT:
        mask = band(n, n, window, q.device)
        ways["window as a mask (fused)"] = lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return ways


def _compare(ways: dict[str, Way]) -> None:
    """Raise unless all ways to a window agree."""
    wanted = ways["window (Triton)"]()
    for name, way in ways.items():
        if not name.startswith("full"):
            torch.testing.assert_close(way(), wanted, atol=2e-2, rtol=2e-2)


def _measured(
    ways: dict[str, Way], inputs: list[Tensor], gradient: Tensor, rounds: int, runs: int
) -> dict[str, tuple[float, float]]:
    """Seconds and MiB of a forward and a backward pass, by way."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    memory = {}
    for _ in range(rounds + 1):
        for name, way in ways.items():
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            held = torch.cuda.memory_allocated()
            began = time.perf_counter()
            for _ in range(runs):
                torch.autograd.grad(way(), inputs, gradient)
            torch.cuda.synchronize()
            times[name].append((time.perf_counter() - began) / runs)
            memory[name] = (torch.cuda.max_memory_allocated() - held) / 2**20
    # The first round compiles.
    return {name: (statistics.median(found[1:]), memory[name]) for name, found in times.items()}


if __name__ == "__main__":
    tyro.cli(main)
