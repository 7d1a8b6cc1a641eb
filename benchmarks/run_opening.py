"""Cost of checking a run's checksums when it is opened and when it is saved.

    python benchmarks/run_opening.py [--megabytes 250] [--rounds 9] [--write]

Makes a run of this size with random weights and opens it by `multihead.load`, with and without the check,
interleaved: in a new process each, and repeatedly in one process. Prints JSON with medians of wall and
processor seconds; with --write also to results/bench-run-opening.json. Run nothing beside it: the check uses
all cores.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import torch
import tyro

from multihead.models.transformer import Settings, Transformer
from multihead.recipe import load, with_horizon
from multihead.recipe.settings import TokenizerSettings
from multihead.run import Run
from multihead.run import embedded_checksum as seal
from multihead.run.environment import environment
from multihead.text.training import train

RESULT = Path(__file__).parents[1] / "results" / "bench-run-opening.json"

CHILD = """
import json, sys, time
from unittest.mock import patch
import multihead
from multihead.run import seal

def opened(checked, folder):
    began = time.perf_counter(), time.process_time()
    if checked:
        multihead.load(folder)
    else:
        with patch.object(seal.CHECKED, "holds", lambda *_: True):
            multihead.load(folder)
    return time.perf_counter() - began[0], time.process_time() - began[1]

print(json.dumps([opened(way == "checked", sys.argv[1]) for way in sys.argv[2:]]))
"""


def main(megabytes: int = 250, rounds: int = 9, write: bool = False) -> None:
    """Measure, print."""
    with tempfile.TemporaryDirectory() as name:
        saving = _made(Path(name) / "run", megabytes)
        folder = str(Path(name) / "run")
        size = (Path(folder) / "model.safetensors").stat().st_size
        _child(folder, "checked")  # warms the page cache
        measured = {
            "one process a run": _processes(folder, rounds),
            "one process, again": _again(folder, rounds),
        }
    settings = {"megabytes": round(size / 1e6), "rounds": rounds, "threads": torch.get_num_threads()}
    report = {"environment": environment({}), "settings": settings, "saving": saving, "opening": measured}
    text = json.dumps(report, indent=2)
    print(text)
    if write:
        RESULT.write_text(text + "\n", encoding="utf-8")


def _made(folder: Path, megabytes: int) -> dict[str, float]:
    """Make a run; return the seconds that saving its model takes, and those of them that hashing takes."""
    tokenizer = train(["ein Hund und eine Katze", "a dog and a cat"] * 3, TokenizerSettings(vocab_size=300))
    count = tokenizer.vocab_size
    layers = max(1, round(megabytes / 29.5))  # an encoder and a decoder layer of the base model
    settings = Settings(source_vocab=count, target_vocab=count, num_layers=layers)
    recipe = with_horizon(replace(load("quickstart"), model=settings))
    weights = Transformer(settings).state_dict()
    with Run.create(folder, recipe, (tokenizer, tokenizer), environment({})) as run:
        began = time.perf_counter()
        run.save_model(weights, {})
        saved = time.perf_counter()
        with (folder / "model.safetensors").open("rb") as file, seal.hashing(file, _seal(file)) as digest:
            digest()
    return {"seconds": round(saved - began, 3), "hashing": round(time.perf_counter() - saved, 3)}


def _seal(file: BinaryIO) -> str:
    header = file.read(8 + int.from_bytes(file.read(8), "little"))
    start = header.index(b"sha256:")
    return header[start : start + len(seal.OPEN)].decode()


def _child(folder: str, *ways: str) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = json.loads(
        subprocess.run(
            [sys.executable, "-c", CHILD, folder, *ways], check=True, stdout=subprocess.PIPE
        ).stdout
    )
    return found


def _processes(folder: str, rounds: int) -> dict[str, Any]:
    """Open in a new process each time; its whole time counts."""
    wall: dict[str, list[float]] = {"checked": [], "unchecked": []}
    cpu: dict[str, list[float]] = {"checked": [], "unchecked": []}
    for _ in range(rounds):
        for way in wall:
            began, before = time.perf_counter(), _processor()
            _child(folder, way)
            wall[way].append(time.perf_counter() - began)
            cpu[way].append(_processor() - before)
    return {"wall": _compared(wall), "processor": _compared(cpu)}


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _again(folder: str, rounds: int) -> dict[str, Any]:
    """Open in one process, the first two times to warm up."""
    found = _child(folder, *["checked", "unchecked"] * (rounds + 1))[2:]
    wall = {"checked": [w for w, _ in found[::2]], "unchecked": [w for w, _ in found[1::2]]}
    cpu = {"checked": [c for _, c in found[::2]], "unchecked": [c for _, c in found[1::2]]}
    return {"wall": _compared(wall), "processor": _compared(cpu)}


def _compared(seconds: dict[str, list[float]]) -> dict[str, Any]:
    ratios = [one / other for one, other in zip(seconds["checked"], seconds["unchecked"], strict=True)]
    medians = {way: round(statistics.median(times), 3) for way, times in seconds.items()}
    lowest = {way: round(min(times), 3) for way, times in seconds.items()}
    return {"median": medians, "lowest": lowest, "ratio_of_pairs": round(statistics.median(ratios), 3)}


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
