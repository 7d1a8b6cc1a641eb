"""Students with and without a teacher, on Multi30k de-en or ko-en: BLEU, and time a sentence.

    python benchmarks/distillation.py --corpus multi30k --teachers runs/1 runs/2 runs/3 runs/4 --seeds 1 2 3
    python benchmarks/distillation.py --corpus ko-en --teachers runs/1 --students micro --steps 400 --seeds 1

For each seed: the student of the teachers, the one that learns from their translations without the original
pairs, the same model trained on the references alone, and the student with self-attention in place of the
SSRU. Every run is kept and resumed. The table gives means and ranges over the seeds, by beam search and
greedily, and the time of a sentence alone, greedily, on one thread, interleaved with the teacher's.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from multihead import recipe as recipes
from multihead.apps.corpus.distilling import STUDENTS
from multihead.run import Run
from multihead.tasks.translation.evaluate import TestSet, evaluate, test_sets
from multihead.tasks.translation.lines import Translator

RECIPES = {"multi30k": "multi30k-de-en", "ko-en": "ko-en"}
KINDS = ("distilled", "distilled, translations only", "distilled, self-attention", "references")
SENTENCES, ROUNDS = 100, 3


@dataclass(frozen=True)
class System:
    """A student, and how it was trained."""

    name: str
    runs: tuple[Path, ...]


def main() -> None:
    """Train what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", choices=RECIPES, default="multi30k")
    parser.add_argument("--teachers", nargs="+", required=True, type=Path)
    parser.add_argument("--students", nargs="+", default=["micro", "tiny"], choices=STUDENTS)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=0, help="updates of each student (0: the recipe's)")
    parser.add_argument("--folder", type=Path, default=Path("runs/distillation"))
    parser.add_argument("--baseline", type=Path, help="a run of the 4 + 4 recipe, to time")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tests = test_sets(Run.open(options.teachers[0]).recipe.data)
    systems = [System("teacher", tuple(options.teachers))]
    if options.baseline:
        systems.append(System("baseline", (options.baseline,)))
    for student in options.students:
        for kind in options.kinds:
            runs = tuple(trained(options, student, kind, seed) for seed in options.seeds)
            systems.append(System(f"{student}, {kind}", runs))
    report = list(measured(systems, tests))
    timed = times(systems, tests[0].sources[:SENTENCES])
    for row in report:
        row["milliseconds"] = round(timed[str(row["system"])], 2)
        print(json.dumps(row, ensure_ascii=False))


def trained(options: argparse.Namespace, student: str, kind: str, seed: int) -> Path:
    """Train a student unless it has been trained, and return its run folder."""
    name = f"{student}-{kind.replace(',', '').replace(' ', '-')}-{seed}"
    folder: Path = options.folder / options.corpus / name
    given = ["--training.seed", str(seed), "--training.threads", "1"]
    given += ["--training.steps", str(options.steps)] if options.steps else []
    if kind == "references":
        data = Run.open(options.teachers[0]).recipe.data
        base = Path(data.dir).absolute()
        sides = {"src": data.source, "tgt": data.target, "valid-src": data.valid_source}
        for name, files in {**sides, "valid-tgt": data.valid_target}.items():
            given += [f"--{name}", *(str(base / file) for file in files)]
        command = ["train", f"student-{student}", "--run", str(folder), *given]
    else:
        more = ["--model.decoder_cell", "attention"] if "attention" in kind else []
        more += ["--translations-only"] if kind == "distilled, translations only" else []
        teachers = list(map(str, options.teachers))
        command = ["distill", *teachers, "--student", student, "-o", str(folder), *more, *given]
    subprocess.run([sys.executable, "-m", "multihead", *command], check=True, stdout=sys.stderr)
    return folder


def measured(systems: Sequence[System], tests: Sequence[TestSet]) -> Iterator[dict[str, object]]:
    """Yield mean and range of BLEU over the seeds, by test set and system; the teachers are one ensemble."""
    for test in tests:
        for system in systems:
            groups = [system.runs] if system.name == "teacher" else [(run,) for run in system.runs]
            scores: dict[str, list[float]] = {"beam": [], "greedy": []}
            for runs in groups:
                translator = Translator.load(*runs)
                for method, found in scores.items():
                    search = translator.settings.model_copy(update={"method": method})
                    found.append(evaluate(translator, test, search).bleu.value)
            row: dict[str, object] = {"test": test.name, "system": system.name, "seeds": len(groups)}
            for method, found in scores.items():
                row[method] = round(statistics.mean(found), 2)
                row[f"{method} range"] = [round(min(found), 2), round(max(found), 2)]
            yield row


def times(systems: Sequence[System], sentences: Sequence[str]) -> dict[str, float]:
    """Milliseconds a sentence, one at a time, greedily; the fastest of interleaved rounds."""
    loaded = {
        system.name: Translator.load(*(system.runs if system.name == "teacher" else system.runs[:1]))
        for system in systems
    }
    best = dict.fromkeys(loaded, float("inf"))
    for _ in range(ROUNDS):
        for name, translator in loaded.items():
            search = recipes.load("multi30k-de-en", {"search.method": "greedy"}).search
            translator.translate(sentences[:2], search)
            began = time.perf_counter()
            for sentence in sentences:
                translator.translate([sentence], search)
            best[name] = min(best[name], 1e3 * (time.perf_counter() - began) / len(sentences))
    return best


if __name__ == "__main__":
    main()
