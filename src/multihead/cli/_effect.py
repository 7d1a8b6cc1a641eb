"""Refusal of options and keys that a command would accept and ignore."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from multihead.errors import UserError
from multihead.settings import DataSettings, SearchSettings, Settings
from multihead.text.corpus import holds_both_sides

Used = Mapping[str, Collection[str]]
"""The keys that a command uses, by section; of a section that is not named all."""

READING = ("format", "source_field", "target_field", "encoding")
"""Keys of [data] that say how a file is read."""

SEARCH_OF_THE_BEST = tuple(key for key in SearchSettings.model_fields if key != "n_best")
"""Keys of [search] where only the best output counts."""

OF_METHODS = {
    "beam": ("beam_size", "stop"),
    "sample": ("temperature", "top_k", "top_p", "seed"),
}
"""Keys of [search] that one method alone uses."""


def refuse_options(
    options: Any, names: Iterable[str], reason: str, typed_as: Mapping[str, str] | None = None
) -> None:
    """Refuse options that have another value than their default.

    Args:
        options: the command's dataclass.
        names: its fields that have no effect here.
        reason: "without --page".
        typed_as: of fields whose options have other names, these.

    Raises:
        UserError: one of them was given.
    """
    defaults = {field.name: field.default for field in fields(options)}
    for name in names:
        if getattr(options, name) != defaults[name]:
            option = (typed_as or {}).get(name, name).replace("_", "-")
            raise _without_effect(f"--{option}", reason)


def refuse_keys(given: Collection[str], keys: Iterable[str], reason: str) -> None:
    """Refuse dotted keys, entries of tables included (``data.tests.news``).

    Args:
        given: the keys that were typed.
        keys: those that have no effect here.
        reason: why not.

    Raises:
        UserError: one of them was given.
    """
    for key in keys:
        if typed := next((one for one in given if one == key or one.startswith(f"{key}.")), None):
            raise _without_effect(f"--{typed}", reason)


def _without_effect(place: str, reason: str) -> UserError:
    return UserError(f"it has no effect {reason}", place=place, remedy="Leave it out.")


def refuse_unused(
    command: str, given: Collection[str], used: Used, types: Mapping[str, type[Settings]]
) -> None:
    """Refuse keys of a recipe that exist but that a command does not use.

    Raises:
        UserError: one of them was given; the keys that the command uses are named.
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


def refuse_other_methods(
    given: Collection[str], method: str, *, methods: Sequence[str] = ("beam", "sample")
) -> None:
    """Refuse keys of [search] that the chosen method of search does not use.

    Args:
        given: the keys that were typed.
        method: ``search.method``.
        methods: whose keys are looked for.

    Raises:
        UserError: one of them was given.
    """
    for other in methods:
        if other != method:
            keys = [f"search.{key}" for key in OF_METHODS[other]]
            refuse_keys(given, keys, f"on the search method {method}; it is for --method {other}")


def refuse_fields(given: Collection[str], data: DataSettings, sources: Sequence[str]) -> None:
    """Refuse the names of columns for files of which each holds one side, line by line.

    Raises:
        UserError: one was given.
    """
    if sources and not any(holds_both_sides(data, name) for name in sources):
        keys = ("data.source_field", "data.target_field")
        refuse_keys(given, keys, "on plain lines; TSV and JSONL have columns and keys (data.format)")
