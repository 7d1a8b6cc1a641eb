"""Resolution of the arguments of ``multihead train`` and ``multihead.train`` to a recipe."""

from collections.abc import Collection, Mapping
from pathlib import Path

from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.recipe import Recipe, model_kinds
from multihead.recipe.settings import DataSettings, Settings
from multihead.run import Run
from multihead.system.addresses import absolute
from multihead.tasks.translation.suggest import (
    MUON_RATE_FACTOR,
    RequestedSettings,
    measure,
    measure_corpus,
    suggest,
    suggest_settings,
)
from multihead.tasks.translation.suggest.within_time import WIDE
from multihead.tasks.translation.without_effect import refuse_keys, refuse_without_effect
from multihead.text.corpus import corpus_files
from multihead.workflows.suggested_recipe import (
    MOST_STEPS,
    Files,
    languages,
    refuse_standard_input,
    suggest_recipe,
)
from multihead.workflows.suggested_texts import fill_recipe, open_recipe

DURATION_KEYS = ("training.steps", "training.warmup_steps", "validation.every")
"""Settings that depend on the number of updates, which depends on the size of the corpus.

In fine-tuning they are chosen for the new corpus; all others are those of the old run.
"""
TIMED_KEYS = (
    *("training.batch_tokens", "training.learning_rate", "training.cooldown", "validation.max_examples"),
    *("tokenizer.dropout", "model.dropout", *WIDE),
)
"""Settings that ``--minutes`` decides beside these, by the speed that was measured when the run began."""


def resolve_recipe(
    name: str | None, files: Files, given: Mapping[str, object], *, run: Path | None, init: Path | None
) -> Recipe[Settings]:
    """Return the recipe to train.

    The first available of: the named recipe; the recipe of the run to resume; the recipe of the run to
    fine-tune, on the new corpus; settings suggested for the size of the corpus.

    Args:
        name: name of a built-in recipe, or a file.
        files: the given corpus files; empty where none are given.
        given: recipe settings by dotted key.
        run: the run folder.
        init: a run to fine-tune.

    Raises:
        UserError: none of these is available; bad settings; settings without effect; bad files.
    """
    for key in (key for key, value in files.items() if value):
        refuse_keys(given, (f"data.{key}",), "together with the option that names the same files")
    tuned = Run.open(init).recipe.data if init is not None else None
    folder = "." if name is not None or init is not None else str(given.get("data.dir", "."))
    files = _expand(files, DataSettings(dir=folder, **_languages(given, tuned)))
    recipe = _select(name, files, given, run=run, init=init)
    if init is not None:
        _refuse_vocabulary(Run.open(init).recipe, recipe, given)
    refuse_without_effect(given, recipe)
    return recipe


def _expand(files: Files, data: DataSettings) -> Files:
    """Return the corpus files, those of folders and archives in their place.

    Validation files in them are used if no others are named.
    """
    train = corpus_files(data, files.get("source", ()), files.get("target", ()))
    valid = corpus_files(data, files.get("valid_source", ()), files.get("valid_target", ())).train
    if not valid[0]:
        valid = train.valid
    sides = {"source": train.train[0], "target": train.train[1]}
    sides |= {"valid_source": valid[0], "valid_target": valid[1]}
    return {key: tuple(names) for key, names in sides.items()}


def _languages(given: Mapping[str, object], tuned: object) -> dict[str, str]:
    """Return the languages that are named, else those of the run to fine-tune."""
    keys = ("source_language", "target_language")
    return {key: str(given.get(f"data.{key}") or getattr(tuned, key, "")) for key in keys}


def _select(
    name: str | None, files: Files, given: Mapping[str, object], *, run: Path | None, init: Path | None
) -> Recipe[Settings]:
    named = {key: value for key, value in files.items() if value}
    if isinstance(kind := given.get("model.kind"), str):
        given = {**given, "model.kind": model_kinds.name_kind(kind)}
    given = _within_minutes(given)
    for source, target in (("source", "target"), ("valid_source", "valid_target")):
        if source in named:
            # A source file alone holds both sides, so the recipe's target file is dropped.
            named = {target: (), **named}
    if name is None and "source" not in named and run is not None and (run / "recipe.toml").is_file():
        name = str(run / "recipe.toml")
    if name is None and init is not None and (task := Run.open(init).task) != model_kinds.DEFAULT_TASK:
        _refuse_pairs(named, task)
        place = init / "recipe.toml"
        given = {**_learning_rate(place, given), **given}
        tuned = {"name": f"{recipes.load(place).name}-tuned", "training.horizon": 0}
        return recipes.load(place, {**tuned, **given})
    if name is not None and (plain := open_recipe(name, given)):
        _refuse_pairs(named, plain.task)
        init_run = Run.open(init) if init else None
        return fill_recipe(name, plain, given, run=run, init_run=init_run)
    if name is not None:
        given = {**_learning_rate(name, given), **given}
        base = recipes.load(name, given)
        _refuse_pairs(named, base.task)
        if base.task != model_kinds.DEFAULT_TASK:
            return base
        return recipes.load(name, {**_own_files(base, named), **given})
    corrected = init is not None and "data.corrections" in given
    if "source" not in named and "data.source" not in given and not corrected:
        remedy = "Name a recipe (`multihead recipes` lists them), or a corpus: --src FILE --tgt FILE."
        if run is None:
            raise UserError("nothing to train on", remedy=remedy)
        fact = "no run to resume (it has no recipe.toml), and nothing to train on"
        raise UserError(fact, place=str(run), remedy=remedy)
    if init is not None:
        return _fine_tuning(init / "recipe.toml", named, given, run)
    if isinstance(kind := given.get("model.kind"), str):
        _refuse_pairs(named, model_kinds.task(kind))
    return suggest_recipe(named, given, existing_duration(run))


def _refuse_pairs(named: Files, task: str) -> None:
    if named and task != model_kinds.DEFAULT_TASK:
        raise UserError(
            f"source and target files are for translators, but the task of this model is {task}",
            place="--src",
            remedy="Name its files by keys of [data]: `multihead train RECIPE --help` lists them.",
        )


def _own_files(base: Recipe[Settings], named: Files) -> dict[str, object]:
    """Return overrides for the user's files. Training files replace everything about the recipe's corpus."""
    if "source" not in named:
        return _absolute(base, named)
    files = _absolute(base, {"valid_source": (), "valid_target": (), **named})
    codes = languages(base.data.model_copy(update=named))
    return {**files, "data.tests": {}, "data.source_language": "", "data.target_language": "", **codes}


def _absolute(base: Recipe[Settings], named: Files) -> dict[str, object]:
    """Return overrides for files relative to the working directory, independent of the recipe's folder."""
    if base.data.dir == ".":
        return {f"data.{key}": paths for key, paths in named.items()}
    return {
        f"data.{key}": tuple(path if path == "-" else absolute(path) for path in paths)
        for key, paths in named.items()
    }


def _fine_tuning(
    place: Path, named: Files, given: Mapping[str, object], run: Path | None
) -> Recipe[Settings]:
    base = recipes.load(place)
    given = {**_learning_rate(place, given), **given}
    corpus = {"valid_source": (), "valid_target": (), **named} if "source" in named else named
    overrides: dict[str, object] = {"name": f"{base.name}-tuned", "training.horizon": 0}
    overrides |= _absolute(base, corpus)
    first = recipes.load(place, {**overrides, **given})
    schedule = first.training.schedule
    suggested: Mapping[str, object]
    if schedule == "wsd":
        requested = RequestedSettings(schedule=schedule, steps=_steps(first, given) or 0)
        suggested = suggest(measure(refuse_standard_input(first.data)), requested).settings
    else:
        suggested = suggest_settings(measure_corpus(refuse_standard_input(first.data)), _steps(first, given))
    duration = {key: suggested[key] for key in DURATION_KEYS} | existing_duration(run)
    return recipes.load(place, {**overrides, **duration, **given})


def _learning_rate(place: str | Path, given: Mapping[str, object]) -> dict[str, object]:
    """Return a learning rate adapted to a given optimiser, unless one is given."""
    if "training.optimizer" not in given or "training.learning_rate" in given:
        return {}
    others = {key: value for key, value in given.items() if key != "training.optimizer"}
    before, after = (recipes.load(place, overrides).training for overrides in (others, given))
    factor = MUON_RATE_FACTOR ** ((after.optimizer == "muon") - (before.optimizer == "muon"))
    return {} if factor == 1 else {"training.learning_rate": before.learning_rate * factor}


def _refuse_vocabulary(base: Recipe[Settings], recipe: Recipe[Settings], given: Collection[str]) -> None:
    """Refuse given tokenizer settings that differ from those of the run to fine-tune."""
    before, after = (each.tokenizer.model_dump(exclude={"dropout"}) for each in (base, recipe))
    for key, value in after.items():
        if f"tokenizer.{key}" in given and value != before.get(key, value):
            raise UserError(
                f"{value!r} differs from the run named by --init, whose vocabulary is used",
                place=f"tokenizer.{key}",
                remedy="Leave it out, or train without --init.",
            )


def existing_duration(run: Path | None) -> dict[str, object]:
    """Return the duration settings of an existing run.

    They stay as they were at its start, so that ``training.steps`` alone extends or shortens a run.
    """
    if run is None or not Run.exists(run):
        return {}
    values = Run.open(run).recipe.values()
    keys = DURATION_KEYS + (TIMED_KEYS if values["training.minutes"] else ())
    return {key: values[key] for key in keys if key in values}


def _steps(recipe: Recipe[Settings], given: Mapping[str, object]) -> int | None:
    """Return the given number of updates; None if none is given."""
    return recipe.training.steps if "training.steps" in given else None


def _within_minutes(given: Mapping[str, object]) -> Mapping[str, object]:
    """Return what was given; with a time limit, a schedule that ends in time, and no limit of updates."""
    if "training.minutes" not in given:
        return given
    return {"training.schedule": "wsd", "training.steps": MOST_STEPS, **given}
