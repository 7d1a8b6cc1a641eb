"""Loading of recipes: layers merged and validated."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from multihead.errors import UserError
from multihead.recipe import layers, model_kinds, tasks
from multihead.recipe.checking import check_section
from multihead.recipe.layers import Layer, RecipeLayers
from multihead.recipe.sections import DEFAULT_KIND, SECTION_NAMES, Recipe, section_types
from multihead.recipe.settings import Settings
from multihead.recipe.values import spell_value
from multihead.recipe.writing import reasons_in

Merged = dict[str, dict[str, tuple[Any, Layer]]]
"""``{section: {key: (value, layer it comes from)}}``"""


def load(name_or_path: str | Path, overrides: Mapping[str, object] | None = None) -> Recipe[Settings]:
    """Load a recipe by name or from a file.

    Args:
        name_or_path: the name of a built-in recipe, or a TOML file.
        overrides: values that override the recipe's, by dotted key (``{"training.steps": 8000}``). Strings
            are parsed as on the command line.

    Raises:
        UserError: no such recipe, an unknown section or key, a value of the wrong type or out of range, or a
            Python file as its model that the user has not named (``multihead.system.plugins``).
    """
    return _resolve(layers.read(name_or_path), overrides or {})


def from_toml(
    text: str, place: str = "recipe.toml", overrides: Mapping[str, object] | None = None
) -> Recipe[Settings]:
    """Load a recipe from TOML text, as ``load`` does; errors name ``place``."""
    return _resolve(layers.parse(text, place), overrides or {})


def with_vocabularies(recipe: Recipe[Settings], source: int, target: int) -> Recipe[Settings]:
    """Return the recipe with the vocabulary sizes filled in; see :func:`with_model`."""
    return with_model(recipe, {"source_vocab": source, "target_vocab": target})


def with_model(recipe: Recipe[Settings], found: Mapping[str, object]) -> Recipe[Settings]:
    """Return the recipe with model settings that depend on the data filled in.

    Args:
        recipe: the recipe.
        found: values by key of [model]; keys that the model lacks are ignored.

    Raises:
        UserError: the values contradict other settings of the model.
    """
    settings_type = type(recipe.model)
    filled = dict(recipe.model) | {
        key: value for key, value in found.items() if key in settings_type.model_fields
    }
    origin = Layer("", {})
    model = check_section(
        "model", {"model": settings_type}, {key: (value, origin) for key, value in filled.items()}
    )
    return replace(recipe, model=model)


def _resolve(origin: RecipeLayers, overrides: Mapping[str, object]) -> Recipe[Settings]:
    typed_in = dict(overrides)
    name = typed_in.pop("name", origin.name)
    if not isinstance(name, str) or not name.isprintable() or name[:1] in ("", ".") or "/" in name:
        raise UserError(f"name = {spell_value(name)}, but it must be a valid folder name")
    merged = _merge([*origin.layers, _command_line(typed_in)])
    kind, layer = merged["model"].pop("kind", (DEFAULT_KIND, origin.layers[-1]))
    kind, types = _types(kind, layer)
    for section, settings in merged.items():
        if section not in types and settings:
            raise _section_of_another_task(section, kind, settings)
    sections: dict[str, Any] = dict.fromkeys(SECTION_NAMES, Settings())
    sections |= {section: check_section(section, types, merged[section]) for section in types}
    reasons = reasons_in(origin.layers[-1].text)
    written_reasons = {key: reason for key, reason in reasons.items() if key not in typed_in}
    return Recipe(name=name, kind=kind, **sections, reasons=written_reasons)


def _types(kind: object, layer: Layer) -> tuple[str, Mapping[str, type[Settings]]]:
    """Return the name of the model that is used, and the settings class of each section."""
    # A place is looked for only in an error: that parses the recipe's text once a line.
    if not isinstance(kind, str):
        fact = f"model.kind = {spell_value(kind)}, but it must be a string"
        raise UserError(fact, place=layer.where("model", "kind"))
    try:
        kind = model_kinds.in_use(kind)
        return kind, section_types(kind)
    except UserError as error:
        place = error.place or layer.where("model", "kind")
        raise UserError(error.fact, place=place, remedy=error.remedy) from error


def _section_of_another_task(section: str, kind: str, given: Mapping[str, tuple[Any, Layer]]) -> UserError:
    key, (_, layer) = next(iter(given.items()))
    return UserError(
        f'a recipe of the model "{kind}" has no section "{section}"',
        place=layer.where(section, key),
        remedy="Omit it.",
    )


def _command_line(overrides: Mapping[str, object]) -> Layer:
    """Return dotted keys as a layer; a third component is an entry of a table (``data.tests.news``)."""
    values: dict[str, dict[str, Any]] = {}
    for dotted, value in overrides.items():
        section, _, key = dotted.partition(".")
        key, _, entry = key.partition(".")
        if not key:
            raise _no_section(dotted)
        keys = values.setdefault(section, {})
        if not entry:
            keys[key] = value
        elif isinstance(keys.setdefault(key, {}), dict):
            keys[key][entry] = value
    return Layer("", values, typed_in=True)


def _no_section(key: str) -> UserError:
    names = {
        name: f"{section}.{name}"
        for task in (*tasks.names(), model_kinds.DEFAULT_TASK)
        for section, settings in tasks.get_task(task).sections.items()
        for name in settings.model_fields
    }
    near = difflib.get_close_matches(key, names, n=1)
    remedy = f'Did you mean "{names[near[0]]}"?' if near else 'Give section and key: "training.steps".'
    return UserError(f'unknown key "{key}"', place=f"--{key}", remedy=remedy)


def _merge(origins: Sequence[Layer]) -> Merged:
    """Merge layers: later values override earlier ones; tables merge by entry, but an empty table clears.

    A layer that names another model discards all earlier model settings; but where the settings of one of the
    two extend the other's, as Mixtral's extend Llama's, those that both have mean the same, and are kept.
    """
    merged: Merged = {name: {} for name in SECTION_NAMES}
    kind: object = None
    for layer in origins:
        for section, values in layer.values.items():
            if section not in merged:
                raise _unknown_section(section, layer)
            if section == "model" and "kind" in values:
                values = {**values, "kind": layer.kind()}
                if kind not in (None, values["kind"]):
                    common = _common(kind, values["kind"])
                    merged["model"] = {
                        key: setting for key, setting in merged["model"].items() if key in common
                    }
                kind = values["kind"]
            for key, value in values.items():
                before, _ = merged[section].get(key, (None, layer))
                if isinstance(before, dict) and isinstance(value, dict) and value:
                    value = {**before, **value}
                merged[section][key] = (value, layer)
    return merged


def _common(earlier: object, later: object) -> set[str]:
    """Return the model settings that one kind takes over from another."""
    try:
        old, new = (model_kinds.load(model_kinds.in_use(str(kind))).Settings for kind in (earlier, later))
    except UserError:
        return set()  # reported where the model is made
    return set(new.model_fields) if issubclass(new, old) or issubclass(old, new) else set()


def _unknown_section(name: str, layer: Layer) -> UserError:
    near = difflib.get_close_matches(name, [*SECTION_NAMES, "name", "extends"], n=1)
    # On the command line a section is only typed with a key.
    key = next(iter(layer.values[name])) if layer.typed_in else ""
    suggestion = f"--{near[0]}.{key}" if near and key else "".join(near)
    remedy = f'Did you mean "{suggestion}"?' if suggestion else f"Sections are {', '.join(SECTION_NAMES)}."
    return UserError(f'unknown section "{name}"', place=layer.where(name), remedy=remedy)
