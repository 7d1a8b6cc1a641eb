"""Time and memory of the first translation: ``multihead translate RUN`` from start to the first line.

    python benchmarks/cold_start.py runs/student --line "Zwei Hunde spielen im Schnee."

The native kernels alone (search.json in the run folder) are compared with PyTorch (the same run without
search.json). Both are run in turns, and the median of each is printed.

    python -m venv small && small/bin/pip install .
    taskset -c 0 python benchmarks/cold_start.py runs/student --python small/bin/python --file test.de

measures what a small machine needs instead, without PyTorch: the installation's size, seconds and memory of
the first line, and of a whole file.
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
    python: Path = Path(sys.executable),
    file: Path | None = None,
) -> None:
    """Measure, print."""
    if SearchRecord.read(run) is None:
        print(f"{run} has no valid {NAME}: `multihead doctor {run}` says why, or writes it", file=sys.stderr)
        return
    settings: dict[str, object] = {"rounds": rounds, "precision": precision, "line": line}
    command = [str(python), "-m", "multihead", "translate", "--precision", precision]
    if file:
        lines = file.read_text(encoding="utf-8")
        settings |= {"file": file.name, "lines": lines.count("\n")}
        measured = {
            "installation": {"MiB": _size(python.parents[1])},
            "first line": _median([_translate([*command, str(run)], f"{line}\n") for _ in range(rounds)]),
            "file": _median([_translate([*command, str(run)], lines) for _ in range(rounds)]),
        }
    else:
        measured = _compare(run, command, f"{line}\n", rounds)
    print(json.dumps({"environment": environment({}), "settings": settings, "measured": measured}, indent=2))


def _compare(run: Path, command: list[str], text: str, rounds: int) -> dict[str, dict[str, float]]:
    """Return the medians with and without PyTorch, which are measured in turns."""
    found: dict[str, list[tuple[float, float]]] = {"native kernels alone": [], "PyTorch": []}
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "run"
        for _ in range(rounds):
            found["native kernels alone"].append(_translate([*command, str(run)], text))
            # PyTorch writes the record again, so the copy is made anew.
            shutil.copytree(run, other, ignore=shutil.ignore_patterns(NAME))
            found["PyTorch"].append(_translate([*command, str(other)], text))
            shutil.rmtree(other)
    return {name: _median(rows) for name, rows in found.items()}


def _median(rows: list[tuple[float, float]]) -> dict[str, float]:
    seconds, sizes = zip(*rows, strict=True)
    return {"seconds": round(statistics.median(seconds), 2), "MiB": round(statistics.median(sizes))}


def _size(folder: Path) -> int:
    """Return the size of a folder's files in MiB, compiled Python left out."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return round(sum(path.stat().st_size for path in files) / 2**20)


MEASURED = """
import json, resource, subprocess, sys, time
command, text = json.loads(sys.argv[1]), sys.stdin.read()
began = time.perf_counter()
subprocess.run(command, input=text, stdout=subprocess.DEVNULL, check=True, text=True)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""
"""Run by a small process: to a command the system counts the memory of the process that started it."""


def _translate(command: list[str], text: str) -> tuple[float, float]:
    """Return seconds until all is translated, and the most resident memory in MiB."""
    measured = [sys.executable, "-S", "-c", MEASURED, json.dumps(command)]
    printed = subprocess.run(measured, input=text, check=True, capture_output=True, text=True).stdout
    seconds, size = map(float, printed.split())
    return seconds, size


if __name__ == "__main__":
    tyro.cli(main)
