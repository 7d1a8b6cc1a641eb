"""One model of many directions beside one model for each direction, at the same total number of updates.

    python benchmarks/many_languages.py --data ../shared/data --corpus multi30k
    python benchmarks/many_languages.py --data ../shared/data --corpus nllb-seed-romance --updates 900

All models have the same settings, so equal updates are equal work; the seconds that each training took are
recorded too. N updates go to the model of all directions, N / (number of single models) to each single model.
Writes results/many-languages.json after every training. The same command resumes: a training that was
interrupted continues, one that is recorded is not repeated. One thread; other programs may run.
"""

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from pathlib import Path
from typing import Any, Literal

import tyro
from rich.console import Console

from multihead import recipe as recipes
from multihead.run import Run
from multihead.run.environment import environment
from multihead.scores import bleu, chrf
from multihead.system import hardware
from multihead.tasks.translation.lines import Translator
from multihead.text.corpus import read_lines
from multihead.workflows.new_model import size_of
from multihead.workflows.progress_display import ProgressDisplay
from multihead.workflows.train import train

RESULT = Path(__file__).parents[1] / "results" / "many-languages.json"
SETTINGS = {
    "tokenizer.dropout": 0.1,
    "model.d_model": 128,
    "model.d_ff": 256,
    "model.num_layers": 4,
    "model.num_heads": 4,
    "model.dropout": 0.1,
    "model.norm": "pre",
    "training.optimizer": "muon",
    "training.schedule": "cosine",
    "training.learning_rate": 8e-3,
    "training.batch_tokens": 2048,
    "training.average": 1,
    "training.threads": 1,
    "validation.max_examples": 240,
}
"""Of all models; sizes and rate as in the recipe multi30k-de-en, dropout lower for short trainings."""


@dataclass(frozen=True)
class Task:
    """Languages that are parallel line by line.

    Attributes:
        languages: code by the ending of the files.
        names: how a file is called, by part.
        vocabulary: tokens of the model of all directions, and of a single model.
        single: directions that have a single model.
    """

    languages: dict[str, str]
    names: dict[str, str]
    vocabulary: tuple[int, int]
    single: tuple[tuple[str, str], ...]


MULTI30K = {code: code for code in ("en", "de", "fr", "cs")}
SEED = {"en": "eng", "fur": "fur", "lij": "lij", "lmo": "lmo", "scn": "scn", "sc": "srd", "vec": "vec"}
TASKS = {
    "multi30k": Task(
        MULTI30K,
        {"train": "train.{}.gz", "valid": "val.{}.gz", "test": "test_2016_flickr.{}.gz"},
        (8000, 6000),
        tuple(permutations(MULTI30K, 2)),
    ),
    "nllb-seed-romance": Task(
        SEED,
        {"train": "train.{}.gz", "valid": "dev.{}.gz", "test": "test.{}.gz"},
        (8000, 4000),
        tuple(pair for other in SEED if other != "en" for pair in ((other, "en"), ("en", other))),
    ),
}


@dataclass(frozen=True)
class Options:
    """Options of the benchmark."""

    data: Path
    """Folder of the corpora."""
    corpus: Literal["multi30k", "nllb-seed-romance"] = "multi30k"
    """Corpus."""
    updates: int = 1800
    """Updates of the model of all directions, and of all single models together."""
    runs: Path = field(default_factory=lambda: Path("runs") / "many-languages")
    """Folder of the runs."""
    left_out: tuple[str, ...] = ()
    """A direction, "de-fr", that the model of all directions is not trained in, and translates zero-shot."""


def main(options: Options) -> None:
    """Train, translate, record."""
    hardware.keep_memory()
    task, recorded = TASKS[options.corpus], _recorded()
    name = "-".join([options.corpus, *(f"without-{one}" for one in options.left_out)])
    found = recorded.setdefault(name, {})
    if found.get("command") != _command(options):
        found.clear()  # other updates: nothing of it compares
    found["command"] = _command(options)
    found["settings"] = {**SETTINGS, "updates": options.updates, "search": "greedy"}
    found["condition"] = "test set of each direction, cased sacreBLEU 13a and chrF2; one seed, one thread"
    if "all" not in found:
        found["all"] = _all(options, task, options.runs / f"{name}-{options.updates}")
        found["environment"] = environment()
        _write(recorded)
    singles = () if options.left_out else task.single
    for pair in singles:
        of_pairs = found.setdefault("single", {})
        if "-".join(pair) not in of_pairs:
            folder = options.runs / f"{name}-{'-'.join(pair)}-{options.updates}"
            of_pairs["-".join(pair)] = _single(options, task, pair, folder)
            found["means"] = _means(found)
            found["environment"] = environment()
            _write(recorded)
    print(json.dumps(found.get("means", found["all"]), indent=2))


def _all(options: Options, task: Task, folder: Path) -> dict[str, Any]:
    listed = options.runs / f"{folder.name}.toml"
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text("\n".join(_entries(options, task)), encoding="utf-8")
    given = {"data.corpora": str(listed), "tokenizer.vocab_size": task.vocabulary[0]}
    trained = _trained(folder, options.updates, given)
    translator = Translator.load(folder)
    scores = {
        "-".join(pair): _scores(translator.toward(pair[1], pair[0], zero_shot=True), options, task, pair)
        for pair in permutations(task.languages, 2)
    }
    return {**trained, "directions": scores}


def _single(options: Options, task: Task, pair: tuple[str, str], folder: Path) -> dict[str, Any]:
    given: dict[str, object] = {"data.dir": str((options.data / options.corpus).absolute())}
    for side, code in zip(("source", "target"), pair, strict=True):
        given[f"data.{side}"] = _file(task, "train", code)
        given[f"data.valid_{side}"] = _file(task, "valid", code)
    given["tokenizer.vocab_size"] = task.vocabulary[1]
    trained = _trained(folder, options.updates // len(task.single), given)
    return {**trained, **_scores(Translator.load(folder), options, task, pair)}


def _trained(folder: Path, updates: int, given: dict[str, object]) -> dict[str, Any]:
    schedule = {
        "training.steps": updates,
        "training.warmup_steps": updates // 10,
        "validation.every": updates,
    }
    recipe = recipes.from_toml("", overrides={"name": folder.name, **SETTINGS, **schedule, **given})
    with ProgressDisplay(Console(stderr=True)) as display:
        outcome = train(recipe, folder, display)
    parameters = size_of(Run.open(folder).load_model())
    return {
        "updates": outcome.progress.step,
        "seconds": round(outcome.progress.seconds, 1),
        "parameters": parameters,
    }


def _entries(options: Options, task: Task) -> Iterator[str]:
    folder = (options.data / options.corpus).absolute()
    for pair in combinations(task.languages, 2):
        ways = [way for way in (pair, pair[::-1]) if "-".join(way) not in options.left_out]
        source, target = ways[0]
        yield "[[corpus]]"
        yield f'source_language = "{source}"\ntarget_language = "{target}"'
        for side, code in (("source", source), ("target", target)):
            yield f'{side} = "{folder / _file(task, "train", code)}"'
            yield f'valid_{side} = "{folder / _file(task, "valid", code)}"'
        yield f"both_directions = {str(len(ways) == 2).lower()}\n"


def _scores(translator: Translator, options: Options, task: Task, pair: Sequence[str]) -> dict[str, float]:
    sources, references = (
        list(read_lines(str(options.data / options.corpus / _file(task, "test", code)), "utf-8"))
        for code in pair
    )
    search = translator.settings.model_copy(update={"method": "greedy"})
    outputs = [found.text for found in translator.translate(sources, search)]
    return {
        "bleu": round(bleu(outputs, references).value, 2),
        "chrf": round(chrf(outputs, references).value, 2),
    }


def _file(task: Task, part: str, code: str) -> str:
    return task.names[part].format(task.languages[code])


def _means(found: dict[str, Any]) -> dict[str, Any]:
    """Return the mean of each metric over the directions that have a single model, and into English."""
    means: dict[str, Any] = {}
    for name, chosen in {
        "all": list(found["single"]),
        "into English": [d for d in found["single"] if d.endswith("-en")],
    }.items():
        if not chosen:
            continue
        for metric in ("bleu", "chrf"):
            one = statistics.mean(found["all"]["directions"][d][metric] for d in chosen)
            many = statistics.mean(found["single"][d][metric] for d in chosen)
            compared = {
                "directions": len(chosen),
                "one model": round(one, 2),
                "single models": round(many, 2),
            }
            means[f"{metric}, {name}"] = compared
    means["seconds"] = {
        "one model": found["all"]["seconds"],
        "single models": round(sum(one["seconds"] for one in found["single"].values()), 1),
    }
    return means


def _command(options: Options) -> str:
    words = ["python benchmarks/many_languages.py --data DATA", f"--corpus {options.corpus}"]
    words += [f"--updates {options.updates}"]
    return " ".join([*words, *(f"--left-out {one}" for one in options.left_out)])


def _recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    return found


def _write(recorded: dict[str, Any]) -> None:
    RESULT.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
