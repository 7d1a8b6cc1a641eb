"""Inject every fault in its long form; print and record injections, survived and lost (results/torture.json).

    make torture
    python benchmarks/torture.py --rows SIGKILL --factor 0.1

The table of faults is ``tests/support/torture.py``. The exit code is 1 if anything was lost.
"""

import argparse
import json
import logging
import shutil
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
ROWS, Case, run_row = (getattr(import_module("torture"), name) for name in ("ROWS", "Case", "run_row"))

OUT = ROOT / "results" / "torture.json"


def record(options: argparse.Namespace, rows: dict[str, dict[str, int]]) -> None:
    """Write the rows so far; with --rows, in place of those recorded before."""
    before = json.loads(options.out.read_text(encoding="utf-8"))["rows"] if options.rows else {}
    found = {row.name: {**before, **rows}[row.name] for row in ROWS if row.name in {**before, **rows}}
    command = f"python benchmarks/torture.py --factor {options.factor:g} --seed {options.seed}"
    options.out.write_text(json.dumps({"command": command, "rows": found}, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Run the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="", help="only rows whose name has this text")
    parser.add_argument("--factor", type=float, default=1.0, help="of the number of injections")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    rows: dict[str, dict[str, int]] = {}
    folder = tempfile.TemporaryDirectory()
    case = Case(Path(folder.name))
    print(f"{'fault':50} {'injections':>10} {'survived':>8} {'lost':>4}")
    for row in ROWS:
        if options.rows not in row.name or ("strace" in row.name and not shutil.which("strace")):
            continue
        count = max(1, round(row.long * options.factor))
        began = time.monotonic()
        found = run_row(row, case, count, options.seed)
        lost = [loss for loss in found if loss]
        rows[row.name] = {"injections": count, "survived": count - len(lost), "lost": len(lost)}
        seconds = time.monotonic() - began
        print(f"{row.name:50} {count:10} {count - len(lost):8} {len(lost):4}   {seconds:.0f} s", flush=True)
        for loss in lost[:5]:
            print(f"    {loss.splitlines()[0][:200]}", flush=True)
        record(options, rows)
    folder.cleanup()
    return int(any(row["lost"] for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
