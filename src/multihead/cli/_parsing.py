"""Command-line options read into a frozen dataclass, one option a field.

A field's annotation gives the type of the value and, as metadata, an ``Option``; the docstring below is the
help text. Types are str, int, float, bool, Literal, each of them or None, and ``tuple[str, ...]``.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from multihead.errors import UserError
from multihead.recipe.values import closest as closest_word

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """Spelling and help of a field; later metadata of an annotation overrides earlier.

    Attributes:
        metavar: name of the value in the help; a positional one in brackets may be left out.
        aliases: further spellings, such as ``-o``.
        name: name in place of the field's.
        help: help text in place of the field's docstring.
        positional: True if no option name is typed.
        rare: True to show it with ``--help-all`` only.
        group: heading in the help of this option and those that follow.
    """

    metavar: str = ""
    aliases: tuple[str, ...] = ()
    name: str = ""
    help: str = ""
    positional: bool = False
    rare: bool = False
    group: str = ""


POSITIONAL = Option(positional=True)
RARE = Option(rare=True)


@dataclass(frozen=True)
class Argument:
    """An option or positional argument of a command.

    Attributes:
        field: field of the dataclass.
        spellings: as typed, the shortest first; none for a positional argument.
        type: type of the value without None; for a tuple, ``tuple``.
        choices: allowed values; none: any.
        default: the field's default; ``MISSING``: the argument is required.
        option: how it is shown.
    """

    field: str
    spellings: tuple[str, ...]
    type: type
    choices: tuple[Any, ...]
    default: Any
    option: Option

    @property
    def metavar(self) -> str:
        """Name of the value in the help; "" for a switch."""
        if self.type is bool:
            return ""
        return self.option.metavar or "|".join(map(str, self.choices)) or self.type.__name__.upper()

    @property
    def shown(self) -> str:
        """The argument as errors name it."""
        return max(self.spellings, key=len) if self.spellings else self.metavar.split()[0].strip("[].")


@cache
def arguments_of(kind: type) -> tuple[Argument, ...]:
    """Return the arguments of a command's dataclass, in order."""
    assert is_dataclass(kind)
    hints, texts = get_type_hints(kind, include_extras=True), _docstrings(kind)
    return tuple(_argument(field.name, hints[field.name], field.default, texts) for field in fields(kind))


def _argument(name: str, hint: Any, default: Any, texts: dict[str, str]) -> Argument:
    metadata = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Option)]
    merged: dict[str, Any] = {"help": texts.get(name, "")}
    for extra in metadata:
        merged |= {key: value for key, value in vars(extra).items() if value}
    option = Option(**merged)
    form = get_args(hint)[0] if hasattr(hint, "__metadata__") else hint
    if get_origin(form) in (Union, UnionType):
        form = next(part for part in get_args(form) if part is not NoneType)
    choices = get_args(form) if get_origin(form) is Literal else ()
    value_type = type(choices[0]) if choices else get_origin(form) or form
    long = f"--{(option.name or name).replace('_', '-')}"
    spellings = () if option.positional else tuple(sorted((*option.aliases, long), key=len))
    return Argument(name, spellings, value_type, choices, default, option)


def _docstrings(kind: type) -> dict[str, str]:
    """Return the docstrings below the fields of a dataclass and its bases."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for statement, below in zip(body.body, body.body[1:], strict=False):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                match below:
                    case ast.Expr(ast.Constant(str(text))):
                        texts[statement.target.id] = " ".join(text.split())
    return texts


def parse(kind: type[T], words: Sequence[str], command: str, *, keys: Callable[[], Sequence[str]]) -> T:
    """Parse a command line; a repeated option of several values has all of them, another one the last.

    Args:
        kind: the command's dataclass.
        words: the command line after the command's name, without recipe keys.
        command: its name, for errors.
        keys: returns the recipe keys of the command as typed, for suggestions.

    Raises:
        UserError: an unknown option, with the closest one; a value that is missing, superfluous or invalid.
    """
    arguments = arguments_of(kind)  # type: ignore[arg-type]  # a type is hashable
    by_spelling = {spelling: argument for argument in arguments for spelling in argument.spellings}
    values: dict[str, Any] = {}
    free: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            free += rest
            break
        if not _is_option(word, by_spelling):
            free.append(word)
        elif (argument := by_spelling.get(_with_dashes(name))) is None:
            raise _unknown(name, [*by_spelling, *keys()], command)
        elif argument.type is bool:
            if equals:
                raise UserError(f"{name} takes no value", remedy=f"Write {name} alone, or leave it out.")
            values[argument.field] = True
        else:
            following = (
                [value] if equals else list(_following(rest, by_spelling, several=argument.type is tuple))
            )
            if not equals:
                del rest[: len(following)]
            if not following:
                raise UserError(f"{name} needs a value", remedy=f"Write {name} {argument.metavar}.")
            before = values.get(argument.field, ()) if argument.type is tuple else None
            value = _value(argument, following)
            values[argument.field] = value if before is None else before + value
    values |= _positional(kind, free, command)
    for argument in arguments:
        if argument.default is MISSING and values.get(argument.field) in (None, "", ()):
            place, remedy = f"multihead {command}", f"Usage: {usage(kind, command)}"
            raise UserError(f"{argument.shown} is missing", place=place, remedy=remedy)
    return kind(**values)


def usage(kind: type, command: str) -> str:
    """Return how to call a command: its positional arguments and its required options."""
    words = ["multihead", command]
    for argument in arguments_of(kind):
        if argument.default is MISSING:
            words += [*argument.spellings[:1], argument.metavar]
        elif not argument.spellings:
            words.append(f"[{argument.metavar.strip('[]')}]")
    return " ".join(words)


def _unknown(name: str, spellings: Sequence[str], command: str) -> UserError:
    remedy = f"`multihead {command} --help` lists the options."
    if match := closest(name, spellings):
        remedy = f'Did you mean "{match}"?'
    return UserError(f'unknown option "{name}"', remedy=remedy)


def closest(typed: str, spellings: Sequence[str]) -> str | None:
    """Return the option that a mistyped one most likely means; a key may lack its section.

    >>> closest("--stpes", ["--run", "--training.steps"])
    '--training.steps'
    """
    forms: dict[str, str] = {}
    for spelling in spellings:
        bare = _with_dashes(spelling).lstrip("-")
        forms.setdefault(bare, spelling)
        forms.setdefault(bare.rpartition(".")[2], spelling)
    near = closest_word(typed.lstrip("-").replace("_", "-"), forms, cutoff=0.7)
    return forms[near[0]] if near else None


def _is_option(word: str, known: dict[str, Argument]) -> bool:
    """True for ``--name`` and ``-n``; False for a single dash and a negative number."""
    if word in ("-", "--") or not word.startswith("-"):
        return False
    return word in known or not _is_number(word)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _with_dashes(name: str) -> str:
    return name.replace("_", "-") if name.startswith("--") else name


def _following(rest: Sequence[str], known: dict[str, Argument], *, several: bool) -> Iterator[str]:
    """Yield the values that follow an option: one, or all up to the next option."""
    for word in rest if several else rest[:1]:
        if word == "--" or _is_option(word, known):
            return
        yield word


def _positional(kind: type, free: list[str], command: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for argument in arguments_of(kind):
        if argument.spellings:
            continue
        count = len(free) if argument.type is tuple else 1
        words, free = free[:count], free[count:]
        if words:
            values[argument.field] = _value(argument, words)
    if free:
        remedy = f"`multihead {command} --help` lists the options."
        if command == "train":
            remedy = (
                "A corpus of pairs is named by --src FILE --tgt FILE, several files of a setting as "
                """--data.files '["FILE", "FILE"]'."""
            )
        raise UserError(f'unexpected argument "{free[0]}"', remedy=remedy)
    return values


def _value(argument: Argument, words: Sequence[str]) -> Any:
    if argument.type is tuple:
        return tuple(words)
    (word,) = words
    typed = f"{argument.shown} {word}" if argument.spellings else f'"{word}"'
    if argument.choices:
        by_name = {str(choice): choice for choice in argument.choices}
        if word not in by_name:
            near = closest_word(word, by_name)
            remedy = f'Did you mean "{near[0]}"?' if near else None
            raise UserError(f"{typed}, but it must be one of {', '.join(by_name)}", remedy=remedy)
        return by_name[word]
    try:
        return argument.type(word)
    except ValueError:
        noun = {int: "an integer", float: "a number"}[argument.type]
        raise UserError(f"{typed}, but it must be {noun}") from None
