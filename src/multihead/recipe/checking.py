"""Validation of settings, with errors that name key, place and remedy."""

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import ValidationError

from multihead.errors import UserError
from multihead.recipe import model_kinds
from multihead.recipe.layers import Layer
from multihead.recipe.sections import Recipe
from multihead.recipe.settings import Settings
from multihead.recipe.values import closest, convert_value, in_words, is_sound, spell_value

Given = Mapping[str, tuple[Any, Layer]]
"""The values of a section by key, each with the layer it comes from."""

Types = Mapping[str, type[Settings]]
"""The settings class of each section."""


def check_section(section: str, types: Types, given: Given) -> Settings:
    """Return the validated settings of a section.

    Raises:
        UserError: an unknown key (the closest one is suggested), a value of the wrong type or out of range,
            or contradictory values.
    """
    settings_type = types[section]
    values = {}
    for key, (value, layer) in given.items():
        if key not in settings_type.model_fields:
            raise _unknown_key(section, key, layer, types)
        values[key] = convert_value(
            value, settings_type.model_fields[key].annotation, typed_in=layer.typed_in
        )
        if not is_sound(values[key]):
            raise _refusal(section, key, settings_type, given)
    try:
        return settings_type.model_validate(values, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "value_error":
            raise _contradiction(section, str(first["ctx"]["error"]), given) from None
        raise _refusal(section, str(first["loc"][0]), settings_type, given) from None


def refuse_contradictions(recipe: Recipe[Settings]) -> None:
    """Refuse contradictions between sections, before any data is read.

    Raises:
        UserError: two settings contradict each other.
    """
    if not getattr(recipe.tokenizer, "joint", True) and getattr(recipe.model, "tied", "") == "all":
        raise UserError(
            'tokenizer.joint = false and model.tied = "all": two vocabularies cannot share one matrix',
            remedy='Set model.tied to "decoder" (or "none"), or tokenizer.joint to true.',
        )
    tokenizer = recipe.tokenizer
    kinds = getattr(tokenizer, "kinds", (getattr(tokenizer, "kind", "bpe"),))
    trained = not getattr(tokenizer, "file", "")
    if getattr(tokenizer, "dropout", 0) and "bpe" not in kinds and trained:
        raise UserError(
            f'tokenizer.dropout leaves out merges of BPE, and tokenizer.kind is "{tokenizer.kind}"',
            place="tokenizer.dropout",
            remedy='Set tokenizer.dropout to 0, or tokenizer.kind to "bpe".',
        )
    training = recipe.training
    final = getattr(training, "final", "")
    if final == "ema" and not training.ema:
        raise UserError(
            'training.final = "ema", but training.ema is 0: there is no moving average',
            place="training.final",
            remedy="Set training.ema, such as 0.999.",
        )
    if final == "average" and training.average == 1:
        raise UserError(
            'training.final = "average", but training.average is 1: nothing is averaged',
            place="training.final",
            remedy='Raise training.average, or set training.final to "last".',
        )
    search: Any = getattr(recipe, "search", None)
    if getattr(search, "method", "") == "beam" and search.n_best > search.beam_size:
        raise UserError(
            f"n_best {search.n_best} is larger than the beam size, {search.beam_size}",
            place="search.n_best",
            remedy="Lower it, or raise search.beam_size.",
        )
    model, longest = recipe.model, getattr(recipe.data, "max_length", 0)
    if recipe.task == "translation":
        longest += 1  # the end token, or the begin token
    positions = getattr(model, "max_positions", longest)
    if getattr(model, "positions", "learned") == "learned" and longest > positions:
        raise UserError(
            f"inputs of up to {longest} tokens, but the model has {positions} positions",
            place="data.max_length",
            remedy="Lower it, or raise model.max_positions.",
        )


def _refusal(section: str, key: str, wanted: type[Settings], given: Given) -> UserError:
    must = f"must be {in_words(wanted.model_fields[key])}"
    if key not in given:
        return UserError(f"{section}.{key} is missing; it {must}")
    value, layer = given[key]
    # The place of a command-line value is its key, which is then not named twice.
    given_as = (
        f"{spell_value(value)} is given" if layer.typed_in else f"{section}.{key} = {spell_value(value)}"
    )
    choices = [str(choice) for choice in get_args(wanted.model_fields[key].annotation)]
    near = closest(str(value), choices) if isinstance(value, str) else []
    remedy = f'Did you mean "{near[0]}"?' if near else None
    return UserError(f"{given_as}, but it {must}", place=layer.where(section, key), remedy=remedy)


def _contradiction(section: str, fact: str, given: Given) -> UserError:
    """Return the error of a check across keys, placed at a key it names, preferably from the command line."""
    named = [(layer.typed_in, layer.where(section, key)) for key, (_, layer) in given.items() if key in fact]
    return UserError(f"[{section}] {fact}", place=max(named)[1] if named else None)


def _models_with_key(key: str, own: type[Settings]) -> list[str]:
    """Return the package's models of the same task that have this key; none for a model from outside."""
    modules = {kind: model_kinds.load(kind) for kind in model_kinds.built_in()}
    task = next((model_kinds.task(kind) for kind, module in modules.items() if module.Settings is own), None)
    same_task = {kind: module for kind, module in modules.items() if model_kinds.task(kind) == task}
    return [kind for kind, module in same_task.items() if key in module.Settings.model_fields]


def _unknown_key(section: str, key: str, layer: Layer, types: Types) -> UserError:
    keys = [*types[section].model_fields, *(["kind"] if section == "model" else [])]
    elsewhere = [f"{name}.{key}" for name in types if key in types[name].model_fields]
    if section == "model" and (kinds := _models_with_key(key, types["model"])):
        kind = model_kinds.name_of(types["model"])
        return UserError(
            f'the model "{kind}" has no key "{key}", which belongs to {" and ".join(kinds)}',
            place=layer.where(section, key),
            remedy=f"Omit it, or choose another model.kind. Keys of {kind}: {', '.join(keys)}.",
        )
    near = [f"{section}.{name}" for name in closest(key, keys)]
    if not near:
        others = {other: name for name in types for other in types[name].model_fields}
        near = [f"{others[other]}.{other}" for other in closest(key, others)]
    remedy = f"Keys of [{section}]: {', '.join(keys)}."
    for suggestion in [*elsewhere, *near][:1]:
        remedy = f'Did you mean "{"--" if layer.typed_in else ""}{suggestion}"?'
    return UserError(f'unknown key "{section}.{key}"', place=layer.where(section, key), remedy=remedy)
