"""Processor seconds of each part of a training without settings, on one thread.

    taskset -c 0 env OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1 python benchmarks/where_time_goes.py \\
        --src train.de --tgt train.en --minutes 5

A part's seconds do not include those of parts inside it. Writes results/where-time-goes.json, with one entry
for each pair of languages.
"""

import functools
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import tyro

from multihead.cli import main as multihead
from multihead.run import Run
from multihead.run.environment import environment

RESULT = Path(__file__).parents[1] / "results" / "where-time-goes.json"
PARTS = {
    "measuring corpus and machine": ("workflows.resolve_recipe.suggest_recipe",),
    "vocabulary": ("data.prepare.vocabularies.train_tokenizers",),
    "cleaning, encoding": ("tasks.translation.data.prepare",),
    "learning words and names": ("tasks.translation.data.find_changed", "tasks.translation.data.marking"),
    "placeholders, names, phrases": (
        "data.marking.Marking.__call__",
        "data.protecting.Protection.__call__",
        "data.phrases.PhraseCutting.__call__",
    ),
    "BPE-dropout": ("text.bpe_dropout.BPEDropout.reencode",),
    "batches": ("data.batches.BatchStream.batch",),
    "forward": ("models.transformer.Transformer.loss",),
    "backward": ("training.update.Updater.add_gradient",),
    "optimiser": ("training.update.Updater.clip", "training.update.Updater.step_optimizer"),
    "validation": ("tasks.translation.validation.Validator.__call__",),
    "calibration, lexicon, casing": (
        "tasks.translation.data.calibration_files",
        "tasks.translation.data.word_files",
    ),
}
"""Functions below ``multihead`` by part; "backward" is the rest of ``add_gradient``."""


class PartTimes:
    """Processor seconds by part, each without those of the parts inside it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inside: list[float] = [0.0]

    def wrap(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, whose time counts for a part."""

        @functools.wraps(function)
        def measure(*arguments: Any, **named: Any) -> Any:
            began = time.process_time()
            self._inside.append(0.0)
            try:
                return function(*arguments, **named)
            finally:
                whole = time.process_time() - began
                self.seconds[part] += whole - self._inside.pop()
                self._inside[-1] += whole

        return measure


def main(src: Path, tgt: Path, minutes: float = 5) -> None:
    """Train, measure, write."""
    times = PartTimes()
    for part, names in PARTS.items():
        for name in names:
            holder, attribute = _find(name)
            setattr(holder, attribute, times.wrap(part, getattr(holder, attribute)))
    pair = f"{src.suffix[1:]}-{tgt.suffix[1:]}"
    with tempfile.TemporaryDirectory() as folder:
        files = ["--src", str(src), "--tgt", str(tgt), "--data.cache", f"{folder}/cache"]
        command = ["train", *files, "--minutes", f"{minutes:g}", "--training.threads", "1"]
        if multihead([*command, "--run", f"{folder}/run"]):
            sys.exit(1)
        updates = max(event.get("step", 0) for event in Run.open(Path(folder) / "run").metrics())
    total = time.process_time()
    seconds = {part: round(times.seconds[part], 1) for part in PARTS}
    seconds["the rest, with the start of Python"] = round(total - sum(times.seconds.values()), 1)
    results = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    results[pair] = {
        "command": f"python benchmarks/where_time_goes.py --src {src.name} --tgt {tgt.name} "
        f"--minutes {minutes:g}",
        "updates": updates,
        "processor seconds": round(total, 1),
        "by part": seconds,
        "environment": environment({}),
    }
    RESULT.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _find(name: str) -> tuple[Any, str]:
    """Return the module or class that has a function, and the function's name there."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            holder: Any = import_module(".".join(["multihead", *parts[:count]]))
        except ImportError:
            continue
        for part in parts[count:-1]:
            holder = getattr(holder, part)
        return holder, parts[-1]
    raise AttributeError(name)


if __name__ == "__main__":
    tyro.cli(main)
