"""Values of settings: brought into the form that a key wants, and that form in plain words."""

import math
import tomllib
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo


def fit(value: Any, wanted: Any, *, typed_in: bool = False) -> Any:
    """Return ``value`` in the form that the annotation ``wanted`` needs, where no meaning is changed by it.

    Lists become tuples, and a single text becomes a list of one where a list of texts is wanted. What
    does not fit is returned as it is; the section refuses it.

    Args:
        value: from a TOML file, the command line, or Python.
        wanted: a type annotation.
        typed_in: a text stands for what it spells ("8000" for 8000, "none" for None), as on a command line.
    """
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return fit(value, inner[0], typed_in=typed_in)
    if typed_in and isinstance(value, str) and not _takes_text(wanted):
        value = _typed(value, wanted)
    if origin in (Union, UnionType):
        forms = [form for form in inner if form is not NoneType]
        return fit(value, forms[0], typed_in=typed_in) if len(forms) == 1 and value is not None else value
    if origin is tuple and inner[0] is str and isinstance(value, str):
        return (value,)
    if origin is dict and isinstance(value, dict):
        return {key: fit(item, inner[1], typed_in=typed_in) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(fit(item, None) for item in value)
    return value


def _takes_text(wanted: Any) -> bool:
    if get_origin(wanted) is Literal:
        return all(isinstance(choice, str) for choice in get_args(wanted))
    if get_origin(wanted) in (Union, UnionType):
        return str in get_args(wanted)
    return wanted is str


def _typed(text: str, wanted: Any) -> Any:
    if text.lower() == "none" and NoneType in get_args(wanted):
        return None
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # TOMLDecodeError, or Python's own limit of digits
        return text
    value = read["value"]
    # One word where a list is wanted is a file's name, even if it looks like a number or a date.
    takes_list = get_origin(wanted) is tuple and not isinstance(value, list)
    return text if takes_list or len(read) > 1 else value


def is_sound(value: Any) -> bool:
    """Tell whether a value has no infinite or undefined number in it, and no text that is not Unicode."""
    if isinstance(value, tuple):
        return all(map(is_sound, value))
    if isinstance(value, dict):
        return is_sound((*value, *value.values()))
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return not isinstance(value, float) or math.isfinite(value)


def spelled(value: object) -> str:
    """Return a value as a recipe would spell it, for an error message."""
    if isinstance(value, str):
        return f'"{value.encode(errors="backslashreplace").decode()}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(spelled, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {spelled(item)}' for key, item in value.items())}}}"
    return str(value)


def in_words(field: FieldInfo) -> str:
    """Say what a key takes: ``a whole number of at least 1``, ``one of "bpe", "words"``."""
    return _form(field.annotation, tuple(field.metadata))


def _form(wanted: Any, limits: tuple[Any, ...] = ()) -> str:
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _form(inner[0], inner[1:])
    if origin in (Union, UnionType):
        return " or ".join("none" if form is NoneType else _form(form, limits) for form in inner)
    if origin is Literal:
        return f"one of {', '.join(map(spelled, inner))}"
    if origin is tuple:
        kind = {str: "texts", int: "whole numbers", float: "numbers"}.get(inner[0], "values")
        if inner[-1] is Ellipsis:
            return f"a list of {kind}"
        return f"a list of {len(inner)} {kind}, [{', '.join('...' for _ in inner)}]"
    if origin is dict:
        return f"a table, {{name = ...}}, each entry {_form(inner[1])}"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return names.get(wanted, str(wanted)) + _range(limits, whole=wanted is int)


def _range(limits: tuple[Any, ...], *, whole: bool) -> str:
    told = []
    for limit in limits:
        match limit:
            case Gt(gt) if whole:
                told.append(f"of at least {gt + 1}")  # type: ignore[operator]
            case Gt(gt):
                told.append(f"above {gt}")
            case Ge(ge):
                told.append(f"of at least {ge}")
            case Lt(lt):
                told.append(f"below {lt}")
            case Le(le):
                told.append(f"of at most {le}")
    return " " + " and ".join(told) if told else ""
