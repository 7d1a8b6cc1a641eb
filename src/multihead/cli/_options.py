"""Options of a command: typed dataclasses read by tyro, and the keys of recipes beside them."""

import difflib
import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar, get_type_hints

import tyro

from multihead import models, recipe, recipes
from multihead.cli import _keys
from multihead.errors import UserError
from multihead.settings import tasks

Options = TypeVar("Options")

File = Annotated[str | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")]
Files = Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE [FILE ...]", help_behavior_hint="")]
Folder = Annotated[str | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="")]
Name = Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="NAME", help_behavior_hint="")]
Text = Annotated[str | None, tyro.conf.arg(metavar="TEXT", help_behavior_hint="")]
Number = Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")]
Word = Annotated[str, tyro.conf.arg(metavar="NAME")]
RunFolders = Annotated[
    tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]", help_behavior_hint="")
]
Flag = Annotated[bool, tyro.conf.arg(help_behavior_hint="")]
Device = Annotated[
    str, tyro.conf.arg(metavar="NAME", help="cuda, mps, cpu, or auto: the first of these that there is.")
]

CONFIG = (tyro.conf.FlagCreatePairsOff, tyro.conf.HelptextFromCommentsOff)


def read(kind: type[Options], arguments: Sequence[str]) -> Options:
    """Return the options of the command in whose file the dataclass ``kind`` stands.

    Raises:
        UserError: an unknown option (the nearest one is named).
        SystemExit: help was asked for (0), or a value cannot be read (2).
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
) -> tuple[Options, dict[str, str]]:
    """Return the options, and the keys of a recipe among the arguments (``--training.steps 8000``).

    Args:
        kind: a dataclass; the docstring below a field is its help.
        arguments: what follows the command's name.
        sections: whose keys are taken.
        short: a section whose keys are also taken without its name and with dashes (``--beam-size 4``).
        task: what the command is for; other tasks have other keys.
        listed: whether help lists the keys.
    """
    command = kind.__module__.rpartition(".")[2]
    rest, given = _keys.split(arguments, sections=sections, short=short, task=task)
    if {"-h", "--help"} & set(rest):
        # Said here, as it stands in the file: tyro would join its lines to paragraphs of any width.
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
            _keys.show(sections, short=short, types=_meant(rest, given, task))
        raise
    if unknown:
        types = _meant(rest, given, task)
        spellings = [*_names(kind), *_keys.spellings(sections, short=short, types=types)]
        raise _unknown(unknown[0].partition("=")[0], spellings, command)
    return options, given


def at_least_one(name: str, count: int) -> int:
    """Return a count. Raises ``UserError`` where it is none."""
    if count < 1:
        raise UserError(f"--{name} {count}", remedy="Say at least 1.")
    return count


def _meant(rest: Sequence[str], given: Mapping[str, str], task: str) -> _keys.Types:
    """Return the sections that keys may be of: those of a model or a recipe that is named, or of the task."""
    if "model.kind" in given:
        return recipe.section_types(given["model.kind"])
    if task == models.DEFAULT_TASK:
        return recipe.section_types(_named_kind(rest) or recipe.DEFAULT_KIND)
    return tasks.sections(task)


def _named_kind(rest: Sequence[str]) -> str | None:
    """Return the model of the first recipe among the arguments, built-in or a file; None if there is none."""
    named = next((name for name in rest if name in recipes.names() or name.endswith(".toml")), None)
    try:
        return recipe.load(named).kind if named else None
    except UserError:  # help is shown all the same; the command itself will tell
        return None


def _unknown(argument: str, spellings: Sequence[str], command: str) -> UserError:
    remedy = f"`multihead {command} --help` lists the options."
    if not argument.startswith("-"):
        if command == "train":
            remedy = "A corpus of your own is named by --src FILE --tgt FILE."
        return UserError(f'one argument too many: "{argument}"', remedy=remedy)
    # `--steps` is most likely the key of that name, in its section.
    ending = f".{argument.lstrip('-').replace('-', '_')}"
    meant = [spelling for spelling in spellings if spelling.endswith(ending)]
    meant += difflib.get_close_matches(argument, spellings, n=1, cutoff=0.75)
    if meant:
        remedy = f'Did you mean "{meant[0]}"?'
    return UserError(f'unknown option "{argument}"', remedy=remedy)


def _names(kind: type[object]) -> list[str]:
    """Return the options of a dataclass as they are typed, positional ones left out."""
    hints = get_type_hints(kind, include_extras=True)
    return [
        f"--{name.replace('_', '-')}"
        for name, hint in hints.items()
        if tyro.conf.Positional not in getattr(hint, "__metadata__", ())
    ]
