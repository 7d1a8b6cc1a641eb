"""Resolution of the arguments of training on several corpora to a recipe."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from multihead import recipe as recipes
from multihead.data.corpora import Corpus, corpora
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.addresses import absolute
from multihead.tasks.translation.suggest import measure_corpus, suggest_settings
from multihead.tasks.translation.suggest.sizes import own_defaults, sized_as
from multihead.tasks.translation.without_effect import refuse_keys, refuse_without_effect
from multihead.text.corpus import check_sides
from multihead.text.symbols import ALL_STANDARD, STANDARD
from multihead.workflows.resolve_recipe import DURATION_KEYS, existing_duration
from multihead.workflows.suggested_recipe import Files

KEYS = ("data.corpora", "data.corpus")
ONE_CORPUS = ("source", "target", "valid_source", "valid_target")
"""Keys of [data] that name the files of a single corpus."""


def several(given: Mapping[str, object]) -> bool:
    """Return True if several corpora are given."""
    return any(given.get(key) for key in KEYS)


def named_corpora(file: str | None, listed: Sequence[str]) -> dict[str, object]:
    """Return settings from ``--corpora FILE`` and ``--corpus de-en=train.de,train.en``.

    Raises:
        UserError: an entry without "=", or two of the same languages.
    """
    corpora_settings: dict[str, object] = {} if file is None else {"data.corpora": str(Path(file).absolute())}
    files: dict[str, list[str]] = {}
    for entry in listed:
        languages, equals, names = entry.partition("=")
        if not equals or not languages or not names:
            remedy = "Write de-en=train.de,train.en."
            raise UserError(f'"{entry}" names no languages and files', place="--corpus", remedy=remedy)
        if languages in files:
            remedy = "List both in a corpora.toml, each with a name of its own."
            raise UserError(f"{languages} is named twice", place="--corpus", remedy=remedy)
        files[languages] = [absolute(name) for name in names.split(",")]
    return {**corpora_settings, **({"data.corpus": files} if files else {})}


def resolve_corpora(
    name: str | None, files: Files, given: Mapping[str, object], *, run: Path | None, init: Path | None
) -> Recipe[Settings]:
    """Return the recipe to train: the named one, that of the run to fine-tune, or suggested settings.

    Args:
        name: name of a built-in recipe, or a file; its corpus is replaced.
        files: must be empty, because corpora.toml names all files.
        given: recipe settings by dotted key, ``data.corpora`` or ``data.corpus`` among them.
        run: the run folder.
        init: a run to fine-tune.

    Raises:
        UserError: files in addition to the corpora; bad settings; bad corpora.
    """
    for key, names in files.items():
        if names:
            remedy = "Name them in the corpora, with their languages."
            raise UserError(
                "files in addition to --corpora", place=f"--{key.replace('_', '-')}", remedy=remedy
            )
    named = ("data.source_language", "data.target_language", "data.tests")
    refuse_keys(given, named, "together with several corpora, which name their own")
    cleared: dict[str, object] = {f"data.{key}": () for key in ONE_CORPUS}
    cleared |= {"data.tests": {}, "data.source_language": "", "data.target_language": ""}
    cleared |= {"data.corpora": "", "data.corpus": {}}
    recipe = _select(name, {**cleared, **given}, run, init)
    refuse_without_effect(given, recipe)
    return recipe


def _select(
    name: str | None, given: Mapping[str, object], run: Path | None, init: Path | None
) -> Recipe[Settings]:
    if name is not None:
        return recipes.load(name, given)
    if init is not None:
        place = Run.open(init).fit_for("translation").folder / "recipe.toml"
        given = {"name": f"{recipes.load(place).name}-tuned", "training.horizon": 0, **given}
        suggested = _suggest(recipes.load(place, given), given)
        duration = {key: suggested[key] for key in DURATION_KEYS} | existing_duration(run)
        return recipes.load(place, {**duration, **given})
    first = recipes.from_toml("", overrides=given)
    recipes.refuse_contradictions(first)
    named = {"name": _name(corpora(first.data)), "model.tied": "all"}
    settings = {**_suggest(first, given), **existing_duration(run)}
    return recipes.from_toml("", overrides={**named, **settings, **given})


def _suggest(first: Recipe[Settings], given: Mapping[str, object]) -> Mapping[str, object]:
    """Return suggested settings for one corpus with the pairs of all directions."""
    found = corpora(first.data)
    for corpus in found:
        check_sides(corpus.files, corpus.files.source, corpus.files.target)
    measured = [(measure_corpus(corpus.files), len(corpus.directions)) for corpus in found]
    whole = replace(
        measured[0][0],
        pairs=sum(one.pairs * ways for one, ways in measured),
        target_characters=sum(one.target_characters * ways for one, ways in measured),
        # Corpora in one script share its letters; several scripts have at least those of the largest.
        characters=max(one.characters for one, _ in measured),
        words=sum(one.words for one, _ in measured),
    )
    steps = first.training.steps if "training.steps" in given else None
    optimizer = first.training.optimizer if "training.optimizer" in given else None
    fresh = dict(suggest_settings(whole, steps, optimizer, sized_as(first)))
    fresh = {key: value for key, value in fresh.items() if key not in own_defaults(first)}
    size = fresh["tokenizer.vocab_size"]
    if not first.tokenizer.file and "tokenizer.vocab_size" not in given and isinstance(size, int):
        fresh["tokenizer.symbols"] = (ALL_STANDARD,)
        fresh["tokenizer.vocab_size"] = size + len(STANDARD)
    return fresh


def _name(found: Sequence[Corpus]) -> str:
    """Return a name for corpora from their languages, e.g. "cs-de-en-fr"."""
    languages = {code for corpus in found for pair in corpus.directions for code in pair}
    return "-".join(sorted(languages))
