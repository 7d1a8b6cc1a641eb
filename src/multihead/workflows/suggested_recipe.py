"""A recipe of settings that suit a corpus, where the user names none."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from multihead import recipe as recipes
from multihead.data import vocabularies
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import DataSettings, Settings
from multihead.tasks.translation.suggest import (
    RequestedSettings,
    Suggestion,
    alternative,
    measure,
    suggest,
    within_time,
)
from multihead.tasks.translation.suggest.profile import CorpusProfile
from multihead.tasks.translation.suggest.sizes import own_defaults, sized_as, tokens
from multihead.text.bpe_dropout import supports_dropout
from multihead.text.corpus_files import NO_LANGUAGES
from multihead.text.lines import without_compression
from multihead.text.symbols import ALL_STANDARD, STANDARD
from multihead.workflows.trial import TRIALS
from multihead.workflows.update_speed import tokens_per_second

Files = Mapping[str, tuple[str, ...]]
"""Corpus files by key of [data]: source, target, valid_source, valid_target."""

TRIAL_SHARE = 0.2
"""Share of the time that a trial of two choices may take; where it is not enough, there is none."""
TRAINING_SHARE = 0.85
"""Share of the time for updates: the rest is for the set-up and validations."""
MOST_STEPS = 100_000_000
"""Updates of a training that only time limits."""

PIECES = (
    *("tokenizer.kind", "tokenizer.target_kind", "tokenizer.joint"),
    *("tokenizer.vocab_size", "tokenizer.target_vocab_size", "tokenizer.apostrophe", "model.tied"),
)
"""Settings that files of tokenizers decide."""
OF_THE_TARGET = ("tokenizer.target_kind", "tokenizer.target_vocab_size", "tokenizer.target_file")
"""Settings of a vocabulary of the target side."""


def suggest_recipe(
    named: Files, given: Mapping[str, object], duration: Mapping[str, object]
) -> Recipe[Settings]:
    """Return a recipe of suggested settings, with an alternative where two choices are close.

    Args:
        named: the corpus files.
        given: settings that the user typed, by dotted key.
        duration: settings of an existing run that stay as they were.

    Raises:
        UserError: bad files; contradicting settings; a corpus from standard input.
    """
    overrides: dict[str, object] = {f"data.{key}": paths for key, paths in named.items()}
    given = {**_imply(given), **given}
    first = recipes.from_toml("", overrides={**overrides, **given})
    if not first.tokenizer.joint and hasattr(first.model, "tied"):
        # Two vocabularies share no matrix, which is the default of one.
        first = recipes.from_toml("", overrides={**overrides, "model.tied": "decoder", **given})
    recipes.refuse_contradictions(first)  # before the corpus is measured
    requested = _requested(first, given)  # likewise: a file may be missing
    corpus = measure(refuse_standard_input(first.data))

    def recipe_of(found: Suggestion) -> Recipe[Settings]:
        fresh = _fresh(found.settings, first, given)
        named_after = {"name": _name(first.data), **languages(first.data)}
        reserved = _reserve_symbols(first, given, fresh)
        values = {**overrides, **named_after, **fresh, **reserved, **duration, **given}
        reasons = {key: why for key, why in found.reasons.items() if key in fresh and key not in given}
        return replace(recipes.from_toml("", overrides=values), reasons=reasons)

    suggestion = suggest(corpus, requested)
    recipe = recipe_of(suggestion)
    sized = not {"tokenizer.vocab_size", "tokenizer.target_vocab_size"}.isdisjoint(given)
    close = None if sized else alternative(corpus, requested)
    other = suggest(corpus, close) if close else None
    if first.training.minutes and not duration:
        affordable = _affordable(recipe, corpus)
        if affordable * TRIAL_SHARE < TRIALS * recipe.training.batch_tokens:
            other = None
        if other:
            affordable *= 1 - TRIAL_SHARE
            other = _within(other, recipe_of, corpus, affordable, given)
        recipe = recipe_of(_within(suggestion, recipe_of, corpus, affordable, given))
    return replace(recipe, alternative=recipe_of(other)) if other else recipe


def _imply(given: Mapping[str, object]) -> dict[str, object]:
    """Return two vocabularies where the user describes one for the target side."""
    named = [key for key in OF_THE_TARGET if given.get(key)]
    same = given.get("tokenizer.target_kind") == given.get("tokenizer.kind")
    apart = named and not (same and named == ["tokenizer.target_kind"])
    return {"tokenizer.joint": False} if apart else {}


def _affordable(recipe: Recipe[Settings], corpus: CorpusProfile) -> float:
    """Return the target tokens that the recipe's time is enough for, by a measurement of its speed."""
    length = max(1, round(tokens(corpus.target, recipe.tokenizer.kinds[1]) / max(1, corpus.pairs)))
    return TRAINING_SHARE * 60 * float(recipe.training.minutes) * tokens_per_second(recipe, length)


def _within(
    suggestion: Suggestion,
    recipe_of: Callable[[Suggestion], Recipe[Settings]],
    corpus: CorpusProfile,
    affordable: float,
    given: Mapping[str, object],
) -> Suggestion:
    """Return settings for a training of so many target tokens; a shape that was typed in part stays."""
    recipe = recipe_of(suggestion)
    epoch = tokens(corpus.target, recipe.tokenizer.kinds[1])
    typed = not within_time.WIDE.keys().isdisjoint(given)
    settings = {
        key: value for key, value in suggestion.settings.items() if not (typed and key in within_time.WIDE)
    }
    widen = False
    if within_time.is_narrow(settings, affordable, epoch):
        wide = recipe_of(replace(suggestion, settings={**suggestion.settings, **within_time.WIDE}))
        share = _affordable(wide, corpus) / _affordable(recipe, corpus)  # both at the machine's load of now
        if widen := within_time.is_worth_its_time(affordable, share * affordable):
            affordable *= share
    decided = within_time.within(settings, affordable, epoch, widen=widen)
    return Suggestion(
        {**suggestion.settings, **{key: decision.value for key, decision in decided.items()}},
        {
            **suggestion.reasons,
            **{key: decision.reason for key, decision in decided.items() if decision.reason},
        },
    )


def _fresh(
    settings: Mapping[str, object], first: Recipe[Settings], given: Mapping[str, object]
) -> dict[str, object]:
    """Return the suggested settings, without those that files or given settings decide."""
    fresh = {key: value for key, value in settings.items() if key not in own_defaults(first)}
    if first.data.valid_source:
        del fresh["data.valid_fraction"]
    if "tokenizer.vocab_size" in given:
        fresh.pop("tokenizer.target_vocab_size", None)
    if first.tokenizer.file or first.tokenizer.target_file:
        fresh = {key: value for key, value in fresh.items() if key not in PIECES}
    return fresh


def _reserve_symbols(
    first: Recipe[Settings], given: Mapping[str, object], fresh: Mapping[str, object]
) -> dict[str, object]:
    """Return overrides that reserve the standard symbols and enlarge the vocabulary accordingly.

    Reserving them later would change the model. They are not reserved in built-in recipes, whose results are
    recorded, nor where the vocabulary's file or size is given.
    """
    sizes = {
        key: fresh[key] for key in ("tokenizer.vocab_size", "tokenizer.target_vocab_size") if key in fresh
    }
    if not sizes or first.tokenizer.file or not sizes.keys().isdisjoint(given):
        return {}
    larger = {key: size + len(STANDARD) for key, size in sizes.items() if isinstance(size, int)}
    return {"tokenizer.symbols": (ALL_STANDARD,), **larger}


def _requested(first: Recipe[Settings], given: Mapping[str, object]) -> RequestedSettings:
    """Return what decides other settings among those that were given."""
    settings, training = first.tokenizer, first.training
    files = vocabularies.from_files(settings, None)
    kind = settings.kind if "tokenizer.kind" in given else ""
    if any(files):
        plain = (supports_dropout(tokenizer) if tokenizer else settings.kind == "bpe" for tokenizer in files)
        kind = "bpe" if all(plain) else "file"
    joint = settings.joint if any(files) or "tokenizer.joint" in given else None
    if joint is None and getattr(first.model, "tied", "") == "all" and "model.tied" in given:
        joint = True
    target = settings.kinds[1] if "tokenizer.target_kind" in given else ""
    return RequestedSettings(
        model=sized_as(first),
        kind=kind,
        target_kind=target,
        joint=joint,
        optimizer=training.optimizer if "training.optimizer" in given else "",
        schedule=training.schedule if "training.schedule" in given else "",
        steps=training.steps if "training.steps" in given and training.steps < MOST_STEPS else 0,
    )


def refuse_standard_input(data: DataSettings) -> DataSettings:
    """Return the settings. Raises ``UserError`` for standard input, which cannot be read twice."""
    if "-" in (*data.source, *data.target):
        raise UserError(
            "a corpus from standard input can be read only once",
            place="--src",
            remedy="Name a file, or name a recipe, so that the corpus need not be measured first.",
        )
    return data


def _name(data: DataSettings) -> str:
    """Return a name for a corpus: ``de-en`` for ``train.de`` and ``train.en``, else the first file's name."""
    codes = list(languages(data).values()) or [data.source_language, data.target_language]
    if all(codes):
        return "-".join(map(str, codes))
    return Path(data.source[0]).name.partition(".")[0] or "corpus"


def languages(data: DataSettings) -> dict[str, object]:
    """Return the languages in the suffixes of two files, as in ``train.de``."""
    if not data.target:
        return {}
    endings = {"source": _ending(data.source[0]), "target": _ending(data.target[0])}
    plain = all(
        2 <= len(ending) <= 3 and ending.isalpha() and ending not in NO_LANGUAGES
        for ending in endings.values()
    )
    return {f"data.{side}_language": ending for side, ending in endings.items()} if plain else {}


def _ending(path: str) -> str:
    name = without_compression(Path(path).name)
    for more in (".txt", ".sgm"):
        name = name.removesuffix(more)
    return name.rpartition(".")[2]
