"""Record a finished run in results/NAME: scores, recipe, samples, learning curve, environment.

    python benchmarks/record.py RUN NAME [--tokenise spacy|moses] [--data.dir DIR] [--command "..."]

Test sets are those of the run's recipe, translated with the run's own search settings. For a run that is no
translator the last validation and its samples are written, for a classifier also its scores on its test sets.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from multihead import recipe as recipes
from multihead.run import Run
from multihead.tasks.translation.evaluate import Evaluation, evaluate, test_sets
from multihead.tasks.translation.lines import Translator
from multihead.text.published import tokeniser

SAMPLES = 20
MEASURED = ("tagging", "spans", "detection", "sets")
"""Tasks that `multihead evaluate` measures beside translation."""


def main() -> None:
    """Evaluate and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--tokenise", default="", help="also BLEU in a publisher's measure: spacy or moses")
    parser.add_argument("--data.dir", dest="folder", default="", help="where the test sets lie")
    parser.add_argument("--command", default="", help="the command that made the run")
    given = parser.parse_args()

    run = Run.open(given.run)
    if run.task != "translation":
        record_learning(run, given.name, given.command)
        return
    overrides = {"data.dir": given.folder} if given.folder else {}
    recipe = recipes.load(run.folder / "recipe.toml", overrides)
    translator = Translator.load(run.folder)
    cut = tokeniser(given.tokenise, recipe.data.target_language) if given.tokenise else None
    found = [
        evaluate(translator, test, recipe.search, run=run, tokenise=cut) for test in test_sets(recipe.data)
    ]
    last = [event for event in run.metrics() if event["event"] == "update"][-1]
    scores = {
        "parameters": sum(parameter.numel() for parameter in translator.models[0].parameters()),
        "minutes": round(last["seconds"] / 60, 1),
        "steps": last["step"],
        **{e.test_set.name: e.to_dict() for e in found},
        "validation_by_step": _validation_by_step(run),
    }

    folder = Path(__file__).parents[1] / "results" / given.name
    folder.mkdir(parents=True, exist_ok=True)
    _copy_description(run, folder)
    (folder / "scores.json").write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")
    (folder / "samples.txt").write_text(_samples(found[0]), encoding="utf-8")
    if given.command:
        (folder / "command.txt").write_text(given.command.rstrip("\n") + "\n", encoding="utf-8")


def record_learning(run: Run, name: str, command: str) -> None:
    """Record a run that is no translator: its last validation with samples, and scores on test sets."""
    events = list(run.metrics())
    last = [event for event in events if event["event"] == "update"][-1]
    end = [event for event in events if event["event"] == "end"][-1]
    scores = {
        "parameters": sum(parameter.numel() for parameter in run.load_model().parameters()),
        "minutes": round(last["seconds"] / 60, 1),
        "steps": last["step"],
        "weights": end["weights"],
        "validation": {key: round(value, 4) for key, value in end["metrics"].items()},
        "validation_by_step": _validation_by_step(run),
    }
    if run.task in MEASURED:
        scores |= _evaluated(run)
    elif getattr(run.recipe.data, "tests", None) or (
        run.task == "classification" and run.recipe.data.generate
    ):
        scores |= _classified(run)
        if run.task == "images":
            for views in ("2", "10"):
                told = _classified(run, "--views", views)
                scores |= {f"{name}_views_{views}": found for name, found in told.items()}
    folder = Path(__file__).parents[1] / "results" / name
    folder.mkdir(parents=True, exist_ok=True)
    _copy_description(run, folder)
    (folder / "scores.json").write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")
    samples = (run.folder / "samples.txt").read_text(encoding="utf-8")
    if "# step" in samples:
        (folder / "samples.txt").write_text(samples[samples.rindex("# step") :], encoding="utf-8")
    if command:
        (folder / "command.txt").write_text(command.rstrip("\n") + "\n", encoding="utf-8")


def _validation_by_step(run: Run) -> dict[int, float]:
    """Return the learning curve; `curves.svg` of the run folder draws it, and is not recorded."""
    return {
        event["step"]: round(event["loss"], 4) for event in run.metrics() if event["event"] == "validation"
    }


def _copy_description(run: Run, folder: Path) -> None:
    """Copy recipe and environment; a folder of data somewhere on this machine becomes data/NAME."""
    recipe = (run.folder / "recipe.toml").read_text(encoding="utf-8")
    neutral = re.sub(r'^dir = "/(?:.*/)?([^/"]+)/?"$', r'dir = "data/\1"', recipe, flags=re.MULTILINE)
    (folder / "recipe.toml").write_text(neutral, encoding="utf-8")
    shutil.copyfile(run.folder / "environment.json", folder / "environment.json")


def _classified(run: Run, *more: str) -> dict[str, object]:
    """Return what `multihead classify` measures on the run's test sets."""
    measure = [sys.executable, "-m", "multihead", "classify", str(run.folder), "--tests", "--json", *more]
    found: dict[str, object] = json.loads(subprocess.run(measure, check=True, stdout=subprocess.PIPE).stdout)
    return found


def _evaluated(run: Run) -> dict[str, object]:
    """Return what `multihead evaluate` measures on the run's test sets."""
    measure = [sys.executable, "-m", "multihead", "evaluate", str(run.folder), "--json"]
    found: dict[str, object] = json.loads(subprocess.run(measure, check=True, stdout=subprocess.PIPE).stdout)
    return found


def _samples(evaluation: Evaluation) -> str:
    """Return translations spread evenly over the test set, with source and reference."""
    test, count = evaluation.test_set, len(evaluation.outputs)
    chosen = range(0, count, max(1, count // SAMPLES))[:SAMPLES]
    return "\n".join(
        f"source     {test.sources[i]}\nreference  {test.references[i]}\noutput     {evaluation.outputs[i]}\n"
        for i in chosen
    )


if __name__ == "__main__":
    main()
