"""From what was typed after ``multihead train``, or said to ``multihead.train``, to a recipe."""

from collections.abc import Collection, Mapping
from pathlib import Path

from multihead import models
from multihead import recipe as recipes
from multihead.data import vocabularies
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.run import Run
from multihead.settings import DataSettings, Settings, TokenizerSettings
from multihead.text.bpe_dropout import supports_dropout
from multihead.text.symbols import ALL_STANDARD, STANDARD
from multihead.workflows.suggest import MUONS_RATE, measure, suggest
from multihead.workflows.without_effect import refuse_idle, refuse_keys

Files = Mapping[str, tuple[str, ...]]
"""Corpus files by key of [data]: source, target, valid_source, valid_target."""

FOLLOWING = ("training.steps", "training.warmup_steps", "validation.every")
"""Settings that follow from the number of updates, which follows from the corpus.

In fine-tuning they follow from the new corpus, and all others are the old run's.
"""


def chosen(
    name: str | None, files: Files, given: Mapping[str, object], *, run: Path | None, init: Path | None
) -> Recipe[Settings]:
    """Return the recipe that is meant.

    That is, in this order: the recipe that is named; the one of the run to go on with; the one of the run to
    begin with, on the new corpus; settings that suit the size of the corpus.

    Args:
        name: of a built-in recipe, or a file.
        files: corpus files that were named; those that were not are empty.
        given: dotted keys of a recipe and their values.
        run: the run folder.
        init: the run whose weights are begun with.

    Raises:
        UserError: nothing of this is there; bad settings, or settings without effect; bad files.
    """
    for key in (key for key, value in files.items() if value):
        refuse_keys(given, (f"data.{key}",), "beside the option that names the same files")
    recipe = _meant(name, files, given, run=run, init=init)
    if init is not None:
        _refuse_vocabulary(Run.open(init).recipe, recipe, given)
    refuse_idle(given, recipe)
    return recipe


def _meant(
    name: str | None, files: Files, given: Mapping[str, object], *, run: Path | None, init: Path | None
) -> Recipe[Settings]:
    own = name is not None  # the recipe of a run folder is not one that the user names
    named = {key: value for key, value in files.items() if value}
    if isinstance(kind := given.get("model.kind"), str):
        given = {**given, "model.kind": models.named(kind)}
    for source, target in (("source", "target"), ("valid_source", "valid_target")):
        if source in named:
            # Whoever names one file means one that holds both sides, whatever the recipe has for its target.
            named = {target: (), **named}
    if name is None and "source" not in named and run is not None and (run / "recipe.toml").is_file():
        name = str(run / "recipe.toml")
    if name is None and init is not None and (task := Run.open(init).task) != models.DEFAULT_TASK:
        _refuse_pairs(named, task)
        place = init / "recipe.toml"
        given = {**_rate(place, given), **given}
        tuned = {"name": f"{recipes.load(place).name}-tuned", "training.horizon": 0}
        return recipes.load(place, {**tuned, **given})
    if name is not None:
        given = {**_rate(name, given, own=own), **given}
        base = recipes.load(name, given, own=own)
        _refuse_pairs(named, base.task)
        if base.task != models.DEFAULT_TASK:
            return base
        return recipes.load(name, {**_of_own(base, named), **given}, own=own)
    if "source" not in named and "data.source" not in given:
        remedy = "Name a recipe (`multihead recipes` lists them), or a corpus: --src FILE --tgt FILE."
        if run is None:
            raise UserError("nothing to train on", remedy=remedy)
        fact = "no run to go on with (it has no recipe.toml), and nothing to train on"
        raise UserError(fact, place=str(run), remedy=remedy)
    if init is not None:
        return _fine_tuning(init / "recipe.toml", named, given, run)
    return _suited(named, given, run)


def _refuse_pairs(named: Files, task: str) -> None:
    if named and task != models.DEFAULT_TASK:
        raise UserError(
            f"source and target files are for translators, and this is a model of the task {task}",
            place="--src",
            remedy="`multihead train RECIPE --help` lists the keys of [data] that name its files.",
        )


def _of_own(base: Recipe[Settings], named: Files) -> dict[str, object]:
    """Return overrides for files of one's own; with training files nothing of the recipe's corpus is left."""
    if "source" not in named:
        return _placed(base, named)
    files = _placed(base, {"valid_source": (), "valid_target": (), **named})
    languages = _languages(base.data.model_copy(update=named))
    return {**files, "data.tests": {}, "data.source_language": "", "data.target_language": "", **languages}


def _placed(base: Recipe[Settings], named: Files) -> dict[str, object]:
    """Return overrides for files that are named from the working folder, whatever the recipe's folder is."""
    if base.data.dir == ".":
        return {f"data.{key}": paths for key, paths in named.items()}
    return {
        f"data.{key}": tuple(path if path == "-" else str(Path(path).absolute()) for path in paths)
        for key, paths in named.items()
    }


def _fine_tuning(
    place: Path, named: Files, given: Mapping[str, object], run: Path | None
) -> Recipe[Settings]:
    base = recipes.load(place)
    given = {**_rate(place, given), **given}
    corpus = {"valid_source": (), "valid_target": (), **named}
    overrides: dict[str, object] = {"name": f"{base.name}-tuned", "training.horizon": 0}
    overrides |= _placed(base, corpus)
    first = recipes.load(place, {**overrides, **given})
    fresh = suggest(measure(_told_once(first.data)), _steps(first, given))
    followed = {key: fresh[key] for key in FOLLOWING} | _settled(run)
    return recipes.load(place, {**overrides, **followed, **given})


def _rate(place: str | Path, given: Mapping[str, object], *, own: bool = False) -> dict[str, object]:
    """Return the rate of another optimiser than a recipe's, where it is not said."""
    if "training.optimizer" not in given or "training.learning_rate" in given:
        return {}
    others = {key: value for key, value in given.items() if key != "training.optimizer"}
    before, after = (recipes.load(place, overrides, own=own).training for overrides in (others, given))
    factor = MUONS_RATE ** ((after.optimizer == "muon") - (before.optimizer == "muon"))
    return {} if factor == 1 else {"training.learning_rate": before.learning_rate * factor}


def _refuse_vocabulary(base: Recipe[Settings], wanted: Recipe[Settings], given: Collection[str]) -> None:
    """Refuse a vocabulary that was typed and is not that of the run whose weights are begun with."""
    before, after = (one.tokenizer.model_dump(exclude={"dropout"}) for one in (base, wanted))
    for key, value in after.items():
        if f"tokenizer.{key}" in given and value != before.get(key, value):
            raise UserError(
                f"{value!r} is given, but the vocabulary is that of the run whose weights are begun with",
                place=f"tokenizer.{key}",
                remedy="Leave it out; or train without --init.",
            )


def _settled(run: Path | None) -> dict[str, object]:
    """Return what a run that is there has for the settings that follow from its number of updates.

    They were settled when it began, so that it can be made longer or shorter by ``training.steps`` alone.
    """
    if run is None or not Run.exists(run):
        return {}
    values = Run.open(run).recipe.values()
    return {key: values[key] for key in FOLLOWING}


def _steps(recipe: Recipe[Settings], given: Mapping[str, object]) -> int | None:
    """Return how many updates were asked for."""
    return recipe.training.steps if "training.steps" in given else None


def _suited(named: Files, given: Mapping[str, object], run: Path | None) -> Recipe[Settings]:
    """Return settings that suit the corpus, of a run that is there those that it was begun with."""
    overrides: dict[str, object] = {f"data.{key}": paths for key, paths in named.items()}
    if isinstance(kind := given.get("model.kind"), str):
        _refuse_pairs(named, models.task(kind))
    first = recipes.from_toml("", overrides={**overrides, **given})
    recipes.refuse_contradictions(first)  # before the corpus is measured
    data = first.data
    optimizer = first.training.optimizer if "training.optimizer" in given else None
    tokenizer = _tokenizer(first.tokenizer)  # before the corpus is measured: a file may be missing
    corpus = measure(_told_once(data))
    fresh = suggest(corpus, _steps(first, given), optimizer, first.kind, tokenizer=tokenizer)
    named_after = {"name": _name(data), **_languages(data)}
    followed = {**fresh, **_reserved(first, given, fresh), **_settled(run)}
    return recipes.from_toml("", overrides={**overrides, **named_after, **followed, **given})


def _reserved(
    first: Recipe[Settings], given: Mapping[str, object], fresh: Mapping[str, object]
) -> dict[str, object]:
    """Return overrides that reserve the standard symbols, in a vocabulary that is larger by as many.

    A vocabulary cannot reserve them later without a change of the model. Built-in recipes leave them out, for
    their results are recorded; so does a vocabulary whose file or size is given.
    """
    size = fresh["tokenizer.vocab_size"]
    if first.tokenizer.file or "tokenizer.vocab_size" in given or not isinstance(size, int):
        return {}
    return {"tokenizer.symbols": (ALL_STANDARD,), "tokenizer.vocab_size": size + len(STANDARD)}


def _tokenizer(settings: TokenizerSettings) -> str:
    """Return the kind of tokenizer for :func:`suggest`; of files "bpe" where BPE-dropout works with them."""
    found = vocabularies.from_files(settings, None)
    if not any(found):
        return settings.kind
    plain = (supports_dropout(one) if one else settings.kind == "bpe" for one in found)
    return "bpe" if all(plain) else "file"


def _told_once(data: DataSettings) -> DataSettings:
    if "-" in (*data.source, *data.target):
        raise UserError(
            "a corpus from standard input can be read only once",
            place="--src",
            remedy="Name a recipe, so that it need not be measured first, or a file.",
        )
    return data


def _name(data: DataSettings) -> str:
    """Return a name for a corpus: ``de-en`` of ``train.de`` and ``train.en``, else the first file's."""
    languages = _languages(data)
    if len(languages) == 2:
        return "-".join(map(str, languages.values()))
    return Path(data.source[0]).name.partition(".")[0] or "corpus"


def _languages(data: DataSettings) -> dict[str, object]:
    """Return the languages that the endings of two files name, as ``.de`` does."""
    if not data.target:
        return {}
    endings = {"source": _ending(data.source[0]), "target": _ending(data.target[0])}
    plain = all(2 <= len(ending) <= 3 and ending.isalpha() and ending != "txt" for ending in endings.values())
    return {f"data.{side}_language": ending for side, ending in endings.items()} if plain else {}


def _ending(path: str) -> str:
    name = Path(path).name
    for more in (".gz", ".xz", ".zst", ".txt"):
        name = name.removesuffix(more)
    return name.rpartition(".")[2]
