"""Speed of training alone and under load, with OpenMP's default waiting and with multihead's.

    python benchmarks/beside_other_work.py

A process trains a small Transformer on all cores, alternately with GCC's OpenMP as it comes and as
``multihead.system.cores.wait_briefly`` sets it, alone and with one process that keeps a core busy, in a
session of its own as if started from another terminal. Writes bench-beside-other-work.json.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tyro

from multihead.run.environment import environment

WORK = """
import multihead, sys, time, torch
from peers.workload import SIZES, VOCAB, batches
from multihead.system import hardware
from multihead.data.batches import FREE
from multihead.models.transformer import Settings, Transformer
from multihead.recipe.settings import TrainingSettings
from multihead.training.optimizers import make_optimizer
from multihead.training.update import Updater
hardware.keep_memory()
hardware.use_threads()
sizes = {"source_vocab": VOCAB["small"], "target_vocab": VOCAB["small"], "label_smoothing": 0.1}
model = Transformer(Settings.model_validate(sizes | SIZES["small"])).train()
settings = TrainingSettings(device="cpu")
updater = Updater(model, make_optimizer(model, settings), settings, torch.device("cpu"))
given = batches("small", 4096, FREE, 2)
for step in range(1, 3 + int(sys.argv[1])):
    if step == 3:
        began = time.perf_counter()
    updater.update(step, [given[step % 2]])
print(sum(given[step % 2].tokens for step in range(3, step + 1)) / (time.perf_counter() - began))
"""
WAITING = {"as the library waits": "import torch\n" + WORK, "waiting briefly": WORK}
"""OpenMP reads its settings when PyTorch is imported."""


@contextmanager
def busy(wanted: bool) -> Iterator[None]:
    """Keep a core busy inside the block."""
    command = [sys.executable, "-c", "while True: pass"]
    # Linux divides cores among sessions first, then among a session's threads.
    other = subprocess.Popen(command, start_new_session=True) if wanted else None
    try:
        yield
    finally:
        if other:
            other.kill()
            other.wait()


def speed(work: str, updates: int) -> float:
    """Target tokens a second of a training of so many updates."""
    own = {key: value for key, value in os.environ.items() if key != "GOMP_SPINCOUNT"}
    command, folder = [sys.executable, "-c", work, str(updates)], Path(__file__).parent
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=folder, env=own).stdout)


def main(out: Path = Path("results"), updates: int = 12, rounds: int = 5) -> None:
    """Measure, interleaved, and write.

    Args:
        out: folder of the result.
        updates: of each training.
        rounds: trainings of each kind.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for beside in (False, True):
        measured: dict[str, list[float]] = {name: [] for name in WAITING}
        for _ in range(rounds):
            for name, work in WAITING.items():
                with busy(beside):
                    measured[name].append(round(speed(work, updates), 1))
        found["under load" if beside else "alone"] = measured
    told = {**environment({}), "updates": updates, "tokens_per_second": found}
    del told["data"]
    (out / "bench-beside-other-work.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    for place, measured in found.items():
        print(place, {name: round(statistics.median(speeds)) for name, speeds in measured.items()})


if __name__ == "__main__":
    tyro.cli(main)
