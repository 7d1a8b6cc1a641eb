"""From a name or a file, and what the command line adds, to a checked recipe."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from multihead import models
from multihead.errors import UserError
from multihead.recipe import layers
from multihead.recipe.layers import Layer, Origin
from multihead.recipe.sections import DEFAULT_KIND, SECTION_NAMES, SECTIONS, Recipe
from multihead.recipe.values import fit, in_words, is_finite
from multihead.settings import Settings

Given = dict[str, tuple[Any, Layer]]
"""The values of one section by key, and where each comes from."""


def load(name_or_path: str | Path, overrides: Mapping[str, object] | None = None) -> Recipe[Settings]:
    """Return the recipe of this name or file.

    Args:
        name_or_path: the name of a built-in recipe, or a TOML file.
        overrides: values that go before the recipe's, by dotted key (``{"training.steps": 8000}``). Texts
            stand for what they spell, as typed on a command line.

    Raises:
        UserError: no such recipe; an unknown section or key; a value of the wrong kind or out of range.
    """
    return _resolve(layers.read(name_or_path), overrides or {})


def from_toml(text: str, place: str = "recipe.toml") -> Recipe[Settings]:
    """Return the recipe that a TOML text spells; errors call it ``place``. Raises as ``load`` does."""
    return _resolve(layers.parse(text, place), {})


def _resolve(origin: Origin, overrides: Mapping[str, object]) -> Recipe[Settings]:
    typed_in = dict(overrides)
    name = typed_in.pop("name", origin.name)
    if not isinstance(name, str) or not name or name.startswith(".") or not name.isprintable() or "/" in name:
        raise UserError(f"name = {_toml(name)}, but it must be a text that can name a folder")
    given = _merge([*origin.layers, _command_line(typed_in)])
    kind, place = given["model"].pop("kind", (DEFAULT_KIND, origin.layers[-1]))
    if not isinstance(kind, str):
        raise UserError(
            f"model.kind = {_toml(kind)}, but it must be a text", place=place.where("model", "kind")
        )
    types = {**SECTIONS, "model": models.load(kind).Settings}
    built = {name: _build(name, types, given[name]) for name in SECTION_NAMES}
    return Recipe(name=name, kind=kind, **built)  # type: ignore[arg-type]  # SECTIONS has each section's type


def _command_line(overrides: Mapping[str, object]) -> Layer:
    """Return dotted keys as a layer; a third part names an entry of a table (``data.tests.news``)."""
    values: dict[str, dict[str, Any]] = {}
    for dotted, value in overrides.items():
        section, _, key = dotted.partition(".")
        key, _, entry = key.partition(".")
        if not key:
            near = [f"{name}.{section}" for name, kind in SECTIONS.items() if section in kind.model_fields]
            remedy = (
                f'Did you mean "{near[0]}"?'
                if near
                else 'Keys are typed with their section: "training.steps".'
            )
            raise UserError(f'unknown key "{dotted}"', place=f"--{dotted}", remedy=remedy)
        if entry:
            values.setdefault(section, {}).setdefault(key, {})[entry] = value
        else:
            values.setdefault(section, {})[key] = value
    return Layer("", values)


def _merge(origins: list[Layer]) -> dict[str, Given]:
    """Return each section's values, those of later layers winning; another model starts from its defaults."""
    merged: dict[str, Given] = {name: {} for name in SECTION_NAMES}
    kind: object = None
    for layer in origins:
        for section, values in layer.values.items():
            if section not in merged:
                raise _unknown(section, layer, section)
            if section == "model" and "kind" in values:
                if kind not in (None, values["kind"]):
                    merged["model"].clear()
                kind = values["kind"]
            merged[section].update({key: (value, layer) for key, value in values.items()})
    return merged


def _build(section: str, types: Mapping[str, type[Settings]], given: Given) -> Settings:
    wanted = types[section]
    values = {}
    for key, (value, layer) in given.items():
        if key not in wanted.model_fields:
            raise _unknown_key(section, key, layer, types)
        values[key] = fit(value, wanted.model_fields[key].annotation, typed_in=not layer.place)
        if not is_finite(values[key]):
            raise _refused(section, key, wanted, given)
    try:
        return wanted.model_validate(values, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] in ("value_error", "assertion_error"):
            fact = str(first["ctx"]["error"])
            keys = [key for key in given if key in fact] or list(given)
            place = given[keys[0]][1].where(section, keys[0]) if keys else None
            raise UserError(f"[{section}] {fact}", place=place) from None
        raise _refused(section, str(first["loc"][0]), wanted, given) from None


def _refused(section: str, key: str, wanted: type[Settings], given: Given) -> UserError:
    must = f"it must be {in_words(wanted.model_fields[key])}"
    if key not in given:
        return UserError(f"{section}.{key} is missing", remedy=f"{must[0].upper()}{must[1:]}.")
    value, layer = given[key]
    return UserError(f"{section}.{key} = {_toml(value)}, but {must}", place=layer.where(section, key))


def _unknown(name: str, layer: Layer, *keys: str) -> UserError:
    near = difflib.get_close_matches(name, [*SECTION_NAMES, "name", "extends"], n=1)
    remedy = f'Did you mean "{near[0]}"?' if near else f"Sections are {', '.join(SECTION_NAMES)}."
    return UserError(f'unknown section "{name}"', place=layer.where(*keys), remedy=remedy)


def _unknown_key(section: str, key: str, layer: Layer, types: Mapping[str, type[Settings]]) -> UserError:
    keys = [*types[section].model_fields, *(["kind"] if section == "model" else [])]
    elsewhere = [f"{name}.{key}" for name in SECTION_NAMES if key in types[name].model_fields]
    near = [f"{section}.{name}" for name in difflib.get_close_matches(key, keys, n=1)]
    meant = (elsewhere or near or [""])[0]
    remedy = f'Did you mean "{meant}"?' if meant else f"Keys of [{section}]: {', '.join(keys)}."
    return UserError(f'unknown key "{section}.{key}"', place=layer.where(section, key), remedy=remedy)


def _toml(value: object) -> str:
    """Return a value as a recipe spells it."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value)
