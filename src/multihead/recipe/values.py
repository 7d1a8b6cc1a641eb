"""Values of settings: conversion to the type of a key, and descriptions of types in errors."""

import difflib
import math
import tomllib
from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo


def convert_value(value: Any, wanted: Any, *, typed_in: bool = False) -> Any:
    """Convert ``value`` to the type ``wanted`` if that keeps its meaning.

    Lists become tuples, and a single string becomes a list of one if a list of strings is wanted. Any other
    value is returned unchanged, for the section to refuse.

    Args:
        value: a value from TOML, the command line, or Python.
        wanted: a type annotation.
        typed_in: parse strings as on the command line ("8000" as 8000, "none" as None).
    """
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return convert_value(value, inner[0], typed_in=typed_in)
    if typed_in and isinstance(value, str) and not _takes_string(wanted):
        value = _parse(value, wanted)
    if origin in (Union, UnionType):
        forms = [form for form in inner if form is not NoneType]
        return (
            convert_value(value, forms[0], typed_in=typed_in)
            if len(forms) == 1 and value is not None
            else value
        )
    if origin is tuple and inner[0] is str and isinstance(value, str):
        return (value,)
    if origin is dict and isinstance(value, dict):
        return {key: convert_value(item, inner[1], typed_in=typed_in) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(convert_value(item, None) for item in value)
    return value


def _takes_string(wanted: Any) -> bool:
    if get_origin(wanted) is Literal:
        return all(isinstance(choice, str) for choice in get_args(wanted))
    if get_origin(wanted) in (Union, UnionType):
        return str in get_args(wanted)
    return wanted is str


def _parse(text: str, wanted: Any) -> Any:
    if text.lower() == "none" and NoneType in get_args(wanted):
        return None
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # TOMLDecodeError, or Python's limit on digits
        return text
    value = parsed["value"]
    # A single value where a list is wanted is a file name, even if it looks like a number or a date.
    takes_list = get_origin(wanted) is tuple and not isinstance(value, list)
    return text if takes_list or len(parsed) > 1 else value


def is_sound(value: Any) -> bool:
    """Return True if a value has only finite numbers and valid Unicode strings."""
    if isinstance(value, tuple):
        return all(map(is_sound, value))
    if isinstance(value, dict):
        return is_sound((*value, *value.values()))
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return not isinstance(value, float) or math.isfinite(value)


def spell_value(value: object) -> str:
    """Return a value in TOML notation, for errors."""
    if isinstance(value, str):
        return f'"{value.encode(errors="backslashreplace").decode()}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(spell_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {spell_value(item)}' for key, item in value.items())}}}"
    return str(value)


def in_words(field: FieldInfo) -> str:
    """Describe the values of a key: ``an integer of at least 1``, ``one of "bpe", "words"``."""
    return _form(field.annotation, tuple(field.metadata))


def _form(wanted: Any, limits: tuple[Any, ...] = ()) -> str:
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _form(inner[0], inner[1:])
    if origin in (Union, UnionType):
        return " or ".join("none" if form is NoneType else _form(form, limits) for form in inner)
    if origin is Literal:
        return f"one of {', '.join(map(spell_value, inner))}"
    if origin is tuple:
        kind = {str: "strings", int: "integers", float: "numbers"}.get(inner[0], "values")
        if inner[-1] is Ellipsis:
            return f"a list of {kind}"
        return f"a list of {len(inner)} {kind}, [{', '.join('...' for _ in inner)}]"
    if origin is dict:
        return f"a table, {{name = ...}}, each entry {_form(inner[1])}"
    names = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}
    return names.get(wanted, str(wanted)) + _range(limits, whole=wanted is int)


def _range(limits: tuple[Any, ...], *, whole: bool) -> str:
    limits_in_words = []
    for limit in limits:
        match limit:
            case Gt(gt) if whole:
                limits_in_words.append(f"of at least {gt + 1}")  # type: ignore[operator]
            case Gt(gt):
                limits_in_words.append(f"above {gt}")
            case Ge(ge):
                limits_in_words.append(f"of at least {ge}")
            case Lt(lt):
                limits_in_words.append(f"below {lt}")
            case Le(le):
                limits_in_words.append(f"of at most {le}")
    return " " + " and ".join(limits_in_words) if limits_in_words else ""


def closest(word: str, words: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """Return the word that a mistyped one most likely means, none if all are too different.

    A word of the same letters comes first: difflib rates swapped letters low ("tsets" and "tests": 0.6).
    """
    words = list(words)
    anagrams = [other for other in words if sorted(other) == sorted(word)]
    return anagrams[:1] or difflib.get_close_matches(word, words, n=1, cutoff=cutoff)
