"""Options of a command: a typed dataclass and recipe keys."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

from multihead import recipe
from multihead.cli import _keys
from multihead.cli._effect import Used, refuse_unused
from multihead.cli._help import Help, Types
from multihead.cli._parsing import POSITIONAL, RARE, Option, parse
from multihead.errors import UserError
from multihead.recipe import built_in as recipes
from multihead.recipe import model_kinds, tasks
from multihead.system.imports import is_installed

Options = TypeVar("Options")

File = Annotated[str | None, Option(metavar="FILE")]
Files = Annotated[tuple[str, ...], Option(metavar="FILE...")]
Folder = Annotated[str | None, Option(metavar="DIR")]
NewFolder = Annotated[str, Option(metavar="DIR", aliases=("-o",))]
Name = Annotated[str | None, POSITIONAL, Option(metavar="NAME")]
Text = Annotated[str | None, Option(metavar="TEXT")]
Number = Annotated[int | None, Option(metavar="N")]
Word = Annotated[str, Option(metavar="NAME")]
Encoding = Annotated[str, Option(metavar="ENCODING")]
RunFolder = Annotated[str, POSITIONAL, Option(metavar="RUN")]
RunFolders = Annotated[tuple[str, ...], POSITIONAL, Option(metavar="RUN...")]
Flag = Annotated[bool, Option()]
Device = Annotated[
    str,
    Option(metavar="DEVICE", help="cuda, mps or cpu; auto takes the first that is available."),
]

HELP, HELP_ALL = ("-h", "--help"), "--help-all"

__all__ = ["POSITIONAL", "RARE", "Option"]


def read(kind: type[Options], arguments: Sequence[str]) -> Options:
    """Parse the options of the command whose module defines the dataclass ``kind``.

    Raises:
        UserError: an unknown option, with the closest one, or an invalid value.
        SystemExit: 0, after printing help.
    """
    options, _ = read_with_keys(kind, arguments, sections=())
    return options


def read_with_keys(
    kind: type[Options],
    arguments: Sequence[str],
    *,
    sections: Sequence[str],
    short: str = "",
    task: str = model_kinds.DEFAULT_TASK,
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
    rest, keys = _keys.split(arguments, sections=sections, short=short, task=task)

    def types() -> Types:
        every = _section_types(rest, keys, task) if sections else {}
        return {name: every[name] for name in sections if name in every}

    if {*HELP, HELP_ALL} & set(rest):
        _show_help(Help(kind, types() if listed else {}, short=short, used=used), rest, types(), command)
        raise SystemExit(0)
    options = parse(
        kind, rest, command=command, keys=lambda: _keys.spellings(types(), short=short, used=used)
    )
    if used and keys:
        refuse_unused(command, keys, used, types())
    return options, keys


def _show_help(help_: Help, rest: Sequence[str], types: Types, command: str) -> None:
    """Print the help, or that of the section which follows ``--help``.

    Raises:
        UserError: what follows is neither a section nor a recipe or file.
    """
    position = next((rest.index(word) for word in HELP if word in rest), len(rest))
    topic = next(iter(rest[position + 1 : position + 2]), "-")
    if topic in types:
        help_.show_section(topic)
        return
    is_argument = topic.startswith("-") or topic in recipes.names() or Path(topic).exists()
    if types and not is_argument and not topic.endswith(".toml"):
        near = difflib.get_close_matches(topic, types, n=1)
        remedy = f'Did you mean "{near[0]}"?' if near else f"Sections are {', '.join(types)}."
        raise UserError(f'no section "{topic}"', place=f"multihead {command} --help", remedy=remedy)
    help_.show(everything=HELP_ALL in rest)


def at_least_one(name: str, count: int) -> int:
    """Return a count. Raises ``UserError`` if it is below 1."""
    if count < 1:
        raise UserError(f"--{name} {count}", remedy="Give at least 1.")
    return count


def _section_types(rest: Sequence[str], given: Mapping[str, str], task: str) -> Types:
    """Return the settings classes of the model or recipe given among the arguments, or of the task."""
    if "model.kind" in given:
        return recipe.section_types(model_kinds.name_kind(given["model.kind"]))
    # A model's own settings lie beside its layers; commands that have keys of [model] need PyTorch anyway.
    if task == model_kinds.DEFAULT_TASK and is_installed("torch"):
        return recipe.section_types(_recipe_kind(rest) or recipe.DEFAULT_KIND)
    return tasks.get_task(task).sections


def _recipe_kind(rest: Sequence[str]) -> str | None:
    """Return the model kind of the first recipe among the arguments, built-in or a file; None without one."""
    name = next((name for name in rest if name in recipes.names() or name.endswith(".toml")), None)
    try:
        return recipe.load(name).kind if name else None
    except UserError:  # only the help needs it; the command itself reports the error
        return None
