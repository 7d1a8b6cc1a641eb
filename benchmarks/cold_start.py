"""Time and memory of the first translation: ``multihead translate RUN`` from start to the first line.

    python benchmarks/cold_start.py runs/student --line "Zwei Hunde spielen im Schnee."

The native kernels alone (search.json in the run folder) are compared with PyTorch (the same run without
search.json). Both are run in turns, and the median of each is printed.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import tyro

from multihead.run.environment import environment
from multihead.run.search_record import NAME, SearchRecord


def main(
    run: tyro.conf.Positional[Path],
    line: str = "Ein Hund.",
    rounds: int = 5,
    precision: str = "int8",
) -> None:
    """Measure, print."""
    if SearchRecord.read(run) is None:
        print(f"{run} has no valid {NAME}: `multihead doctor {run}` says why, or writes it", file=sys.stderr)
        return
    found: dict[str, list[tuple[float, float]]] = {"native kernels alone": [], "PyTorch": []}
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "run"
        for _ in range(rounds):
            found["native kernels alone"].append(_first_line(run, line, precision))
            # PyTorch writes the record again, so the copy is made anew.
            shutil.copytree(run, other, ignore=shutil.ignore_patterns(NAME))
            found["PyTorch"].append(_first_line(other, line, precision))
            shutil.rmtree(other)
    measured = {
        name: {
            "seconds": round(statistics.median(seconds for seconds, _ in rows), 2),
            "MiB": round(statistics.median(size for _, size in rows)),
        }
        for name, rows in found.items()
    }
    settings = {"rounds": rounds, "precision": precision, "line": line}
    print(json.dumps({"environment": environment({}), "settings": settings, "measured": measured}, indent=2))


MEASURED = """
import json, resource, subprocess, sys, time
command, line = json.loads(sys.argv[1]), sys.argv[2]
began = time.perf_counter()
subprocess.run(command, input=line, stdout=subprocess.DEVNULL, check=True, text=True)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""
"""Run by a small process: to a command the system counts the memory of the process that started it."""


def _first_line(run: Path, line: str, precision: str) -> tuple[float, float]:
    """Return seconds until the translation is written, and the most resident memory in MiB."""
    command = [sys.executable, "-m", "multihead", "translate", str(run), "--precision", precision]
    measured = [sys.executable, "-S", "-c", MEASURED, json.dumps(command), f"{line}\n"]
    printed = subprocess.run(measured, check=True, capture_output=True, text=True).stdout
    seconds, size = map(float, printed.split())
    return seconds, size


if __name__ == "__main__":
    tyro.cli(main)
