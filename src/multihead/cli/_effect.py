"""Refusal of options and keys that a command would accept and ignore."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any

from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings, Settings
from multihead.tasks.translation.without_effect import without_effect

Used = Mapping[str, Collection[str]]
"""The keys that a command uses, by section; all keys of a section that is not listed."""

FILE_READING = ("format", "source_field", "target_field", "encoding")
"""Keys of [data] that set how a file is read."""

SEARCH_OF_THE_BEST = tuple(key for key in SearchSettings.model_fields if key != "n_best")
"""Keys of [search] for commands that use only the best output."""


def refuse_options(
    options: Any, names: Iterable[str], reason: str, typed_as: Mapping[str, str] | None = None
) -> None:
    """Refuse options that differ from their defaults.

    Args:
        options: the command's dataclass.
        names: fields that have no effect here.
        reason: completes "it has no effect", e.g. "without --page".
        typed_as: option names that differ from their fields, by field.

    Raises:
        UserError: one of them was given.
    """
    defaults = {field.name: field.default for field in fields(options)}
    for name in names:
        if getattr(options, name) != defaults[name]:
            option = (typed_as or {}).get(name, name).replace("_", "-")
            raise without_effect(f"--{option}", reason)


def refuse_unused(
    command: str, given: Collection[str], used: Used, types: Mapping[str, type[Settings]]
) -> None:
    """Refuse recipe keys that exist but that the command does not use.

    Raises:
        UserError: one of them was given. The message lists the keys that the command uses.
    """
    for typed in given:
        section, _, rest = typed.partition(".")
        key = rest.partition(".")[0]
        if section not in used or section not in types or key in used[section]:
            continue
        if key in types[section].model_fields:
            keys = ", ".join(used[section])
            remedy = f"Keys of [{section}] that it uses: {keys}." if keys else "Leave it out."
            raise UserError(f"`multihead {command}` does not use it", place=f"--{typed}", remedy=remedy)
