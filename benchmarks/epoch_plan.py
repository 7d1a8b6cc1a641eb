"""Memory and time of an epoch's plan.

    python benchmarks/epoch_plan.py --pairs 100000 1000000 4000000 --out results/bench-epoch-plan.json

plans an epoch of that many pairs of random lengths, each number in its own process, and samples its
anonymous memory (RssAnon in /proc, Linux only). Prints the peak above that before, what is left when the
plan is made, both in MiB, and the seconds; at last the bytes that a pair adds between the two largest.
"""

import json
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from multihead.data.plan import epoch_plan
from multihead.run.environment import environment

BLOCK = 1 << 17
LONGEST = 60


@dataclass(frozen=True)
class Options:
    """The numbers of pairs."""

    pairs: tuple[int, ...] = (100_000, 1_000_000, 4_000_000)
    """Pairs of an epoch."""
    batch_tokens: int = 4096
    """Tokens of a batch."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File for the results."""


def main(options: Options) -> None:
    """Measure, and print the result as JSON."""
    rows = []
    for pairs in sorted(options.pairs):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            rows.append(process.submit(measured, pairs, options.batch_tokens).result())
    result: dict[str, Any] = {"rows": rows}
    if len(rows) > 1:
        grown = (rows[-1]["peak_mib"] - rows[-2]["peak_mib"]) * 2**20
        result["bytes_a_pair"] = round(grown / (rows[-1]["pairs"] - rows[-2]["pairs"]), 2)
    print(json.dumps(result, indent=2))
    if options.out:
        command_line = " ".join(["python", "benchmarks/epoch_plan.py", *sys.argv[1:]])
        content = {"command": command_line, **environment(), **result}
        content.pop("data")
        options.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def measured(pairs: int, batch_tokens: int) -> dict[str, Any]:
    """Plan an epoch of pairs whose lengths are memory-mapped, as those of a token store are."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lengths = [written(folder / side, pairs, seed) for seed, side in enumerate(("source", "target"))]
        before = anonymous()
        peak, done, began = [before], threading.Event(), time.monotonic()

        def watch() -> None:
            while not done.wait(0.002):
                peak[0] = max(peak[0], anonymous())

        watching = threading.Thread(target=watch)
        watching.start()
        plan = epoch_plan(*lengths, batch_tokens, 1, 0, folder=folder)
        seconds = time.monotonic() - began
        done.set()
        watching.join()
        after = anonymous()
        return {
            "pairs": pairs,
            "batches": len(plan),
            "peak_mib": round((max(*peak, after) - before) / 2**20, 2),
            "left_mib": round((after - before) / 2**20, 2),
            "seconds": round(seconds, 1),
        }


def written(path: Path, pairs: int, seed: int) -> "np.memmap[Any, np.dtype[np.int32]]":
    """Write random lengths, and return them memory-mapped."""
    chance = np.random.default_rng(seed)
    with path.open("wb") as file:
        for start in range(0, pairs, BLOCK):
            file.write(chance.integers(1, LONGEST, min(BLOCK, pairs - start)).astype(np.int32).tobytes())
    return np.memmap(path, np.int32, mode="r")


def anonymous() -> int:
    """Return this process's anonymous memory in bytes."""
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.split("\n") if line.startswith("RssAnon")]
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main(tyro.cli(Options))
