"""Options of a command: a typed dataclass parsed by tyro, plus recipe keys."""

import difflib
import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar, get_type_hints

import tyro

from multihead import models, recipe, recipes
from multihead.cli import _keys
from multihead.cli._effect import Used, refuse_unused
from multihead.errors import UserError
from multihead.imports import is_installed
from multihead.settings import tasks

Options = TypeVar("Options")

File = Annotated[str | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")]
Files = Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE [FILE ...]", help_behavior_hint="")]
Folder = Annotated[str | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="")]
Name = Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="NAME", help_behavior_hint="")]
Text = Annotated[str | None, tyro.conf.arg(metavar="TEXT", help_behavior_hint="")]
Number = Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")]
Word = Annotated[str, tyro.conf.arg(metavar="NAME")]
Encoding = Annotated[str, tyro.conf.arg(metavar="ENCODING")]
RunFolders = Annotated[
    tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]", help_behavior_hint="")
]
Flag = Annotated[bool, tyro.conf.arg(help_behavior_hint="")]
Device = Annotated[
    str,
    tyro.conf.arg(metavar="DEVICE", help="cuda, mps or cpu; auto takes the first that is available."),
]

CONFIG = (tyro.conf.FlagCreatePairsOff, tyro.conf.HelptextFromCommentsOff)


def read(kind: type[Options], arguments: Sequence[str]) -> Options:
    """Parse the options of the command whose module defines the dataclass ``kind``.

    Raises:
        UserError: an unknown option; the message suggests the closest one.
        SystemExit: after printing help (0), or for an invalid value (2).
    """
    options, _ = read_with_keys(kind, arguments, sections=())
    return options


def read_with_keys(
    kind: type[Options],
    arguments: Sequence[str],
    *,
    sections: Sequence[str],
    short: str = "",
    task: str = models.DEFAULT_TASK,
    listed: bool = True,
    used: Used | None = None,
) -> tuple[Options, dict[str, str]]:
    """Parse the options, and the recipe keys among the arguments (``--training.steps 8000``).

    Args:
        kind: a dataclass; the docstring below a field is its help text.
        arguments: the command line after the command's name.
        sections: recipe sections whose keys are accepted.
        short: section whose keys are also accepted without its name and with dashes (``--beam-size 4``).
        task: task of the command, which determines the keys.
        listed: list the keys in the help.
        used: keys that the command uses, by section; all keys of a section that is not listed. Others
            are refused.
    """
    command = kind.__module__.rpartition(".")[2]
    rest, given = _keys.split(arguments, sections=sections, short=short, task=task)
    if {"-h", "--help"} & set(rest):
        # Printed here, because tyro would rewrap its lines.
        print(inspect.cleandoc(sys.modules[kind.__module__].__doc__ or ""), end="\n\n")
    try:
        options, unknown = tyro.cli(
            kind,
            prog=f"multihead {command}",
            description="",
            args=rest,
            config=CONFIG,
            return_unknown_args=True,
        )
    except SystemExit as end:
        if not end.code and listed and sections:
            _keys.show(sections, short=short, types=_section_types(rest, given, task), used=used or {})
        raise
    if unknown:
        types = _section_types(rest, given, task)
        spellings = [*_names(kind), *_keys.spellings(sections, short=short, types=types, used=used)]
        raise _unknown(unknown[0].partition("=")[0], spellings, command)
    if used and given:
        refuse_unused(command, given, used, _section_types(rest, given, task))
    return options, given


def at_least_one(name: str, count: int) -> int:
    """Return a count. Raises ``UserError`` if it is below 1."""
    if count < 1:
        raise UserError(f"--{name} {count}", remedy="Give at least 1.")
    return count


def _section_types(rest: Sequence[str], given: Mapping[str, str], task: str) -> _keys.Types:
    """Return the settings classes of the model or recipe given among the arguments, or of the task."""
    if "model.kind" in given:
        return recipe.section_types(models.named(given["model.kind"]))
    # A model's own settings lie beside its layers; commands that have keys of [model] need PyTorch anyway.
    if task == models.DEFAULT_TASK and is_installed("torch"):
        return recipe.section_types(_recipe_kind(rest) or recipe.DEFAULT_KIND)
    return tasks.sections(task)


def _recipe_kind(rest: Sequence[str]) -> str | None:
    """Return the model kind of the first recipe among the arguments, built-in or a file; None without one."""
    name = next((name for name in rest if name in recipes.names() or name.endswith(".toml")), None)
    try:
        return recipe.load(name, own=True).kind if name else None
    except UserError:  # only the help needs it; the command itself reports the error
        return None


def _unknown(argument: str, spellings: Sequence[str], command: str) -> UserError:
    remedy = f"`multihead {command} --help` lists the options."
    if not argument.startswith("-"):
        if command == "train":
            remedy = "To train on your own corpus, use --src FILE --tgt FILE."
        return UserError(f'unexpected argument "{argument}"', remedy=remedy)
    # `--steps` most likely means the key of that name in some section.
    ending = f".{argument.lstrip('-').replace('-', '_')}"
    matches = [spelling for spelling in spellings if spelling.endswith(ending)]
    matches += difflib.get_close_matches(argument, spellings, n=1, cutoff=0.75)
    if matches:
        remedy = f'Did you mean "{matches[0]}"?'
    return UserError(f'unknown option "{argument}"', remedy=remedy)


def _names(kind: type[object]) -> list[str]:
    """Return the options of a dataclass as typed, without positional ones."""
    hints = get_type_hints(kind, include_extras=True)
    return [
        f"--{name.replace('_', '-')}"
        for name, hint in hints.items()
        if tyro.conf.Positional not in getattr(hint, "__metadata__", ())
    ]
