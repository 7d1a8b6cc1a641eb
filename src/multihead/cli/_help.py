"""Help of a command: on one page if it fits, otherwise what is typed most, and the rest on demand.

``--help`` prints at most ``PAGE`` lines, ``--help SECTION`` all keys of a section, ``--help-all`` everything.
"""

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from rich.text import Text

from multihead.cli import _console
from multihead.cli._effect import Used
from multihead.cli._parsing import Argument, arguments_of, usage
from multihead.recipe import model_kinds
from multihead.recipe.settings import Settings
from multihead.recipe.values import spell_value

Types = Mapping[str, type[Settings]]
"""Settings class of each section."""

PAGE = 70
"""Maximum number of lines that ``--help`` prints in ``WIDTH`` columns."""
WIDTH = 80
MAX_WIDTH = 110
"""Columns beyond which lines of text are hard to read."""
LEFT, INDENT = 26, 2
"""Columns of the names, and of the space before them."""
EXAMPLE = " " * 4
SHORT_PARAGRAPH = 2
"""Lines of a paragraph of the description that ``--help`` still prints."""

COMMON: Mapping[str, Collection[str]] = {
    "data": ("dir",),
    "tokenizer": ("vocab_size",),
    "model": ("kind", "d_model", "num_layers"),
    "training": ("steps", "batch_tokens", "batch_images", "learning_rate", "device", "precision", "seed"),
    "validation": ("every", "patience"),
    "search": ("method", "beam_size", "length_penalty", "n_best", "max_tokens", "temperature", "top_p"),
}
"""The keys that are typed most, by section."""


SHOWN_SECTIONS = ("data", "tokenizer", "model", "training", "validation")
"""Sections whose common keys ``--help`` lists; those of [search] are listed if they are options."""


class Help:
    """The help of a command.

    Args:
        kind: the command's dataclass.
        types: settings class of each section that the command accepts.
        short: section whose keys are typed without its name.
        used: keys to show, by section; all keys of a section that is not listed.
    """

    def __init__(self, kind: type, types: Types, *, short: str = "", used: Used | None = None) -> None:
        self._command = kind.__module__.rpartition(".")[2]
        self._description = inspect.cleandoc(sys.modules[kind.__module__].__doc__ or "")
        self._kind, self._arguments = kind, arguments_of(kind)
        self._types, self._short, self._used = types, short, used or {}

    def show(self, *, everything: bool = False) -> None:
        """Print the help; without ``everything`` the common part, unless all of it fits on a page."""
        whole = everything or len(list(self._lines(WIDTH, brief=False))) <= PAGE
        _print(lambda width: self._lines(width, brief=not whole))

    def show_section(self, name: str) -> None:
        """Print all keys of a section."""
        _print(lambda width: self._section(name, width))

    def _lines(self, width: int, *, brief: bool) -> Iterator[Text]:
        yield from map(Text, (_start(self._description) if brief else self._description).split("\n"))
        yield Text()
        positional = [argument for argument in self._arguments if not argument.spellings]
        yield Text.assemble(("usage: ", "bold"), f"{usage(self._kind, self._command)} [options]")
        yield Text()
        rows = [(argument.metavar, _about(argument, brief=brief)) for argument in positional]
        yield from _table(rows, width)
        heading = "options:"
        options = [argument for argument in self._arguments if argument.spellings]
        for group in _groups([option for option in options if not (brief and option.option.rare)]):
            if positional or heading != "options:":
                yield Text()
            yield Text(f"{group[0].option.group}:" if group[0].option.group else heading, style="bold")
            yield from _table(
                [(_left_column(option), _about(option, brief=brief)) for option in group], width
            )
            heading = ""
        yield from self._common(width) if brief else self._sections(width)
        yield Text()
        yield Text("help:", style="bold")
        rare = [option.shown for option in options if option.option.rare]
        further = f", also {', '.join(rare)}" if rare else ""
        rows = [("-h, --help", "This help.")]
        if self._types:
            rows.append(("--help SECTION", f"All settings of a section: {', '.join(self._types)}."))
        if brief:
            rows.append(("--help-all", f"All options and settings{further}."))
        if "model" in self._types:
            rows[-1] = (
                rows[-1][0],
                rows[-1][1] + " Add a recipe or --model.kind for those of another model.",
            )
        yield from _table(rows, width)

    def _sections(self, width: int) -> Iterator[Text]:
        for name in self._types:
            yield Text()
            yield from self._section(name, width)

    def _section(self, name: str, width: int) -> Iterator[Text]:
        about = (self._types[name].__doc__ or "").split("\n")[0]
        yield from (Text(line, style="bold") for line in textwrap.wrap(f"{name}: {about}", width))
        yield from _table(self._rows(name, brief=False), width)

    def _common(self, width: int) -> Iterator[Text]:
        """Yield the common keys of all sections, but of [search] only if it is typed without its name."""
        names = [name for name in self._types if name in (self._short, *SHOWN_SECTIONS)]
        if rows := [row for name in names for row in self._rows(name, brief=True)]:
            yield Text()
            yield Text("settings:", style="bold")
            yield from _table(rows, width)

    def _rows(self, name: str, *, brief: bool) -> Iterator[tuple[str, str]]:
        kind = self._types[name]
        for key in self._used.get(name, [*(["kind"] if name == "model" else []), *kind.model_fields]):
            if brief and key not in COMMON[name]:
                continue
            left = f"--{spelling(name, key, short=self._short)}"
            field = kind.model_fields.get(key)
            if field is None:
                kinds = "" if brief else f": one of {', '.join(model_kinds.names())}"
                yield left, f"Model{kinds}. [{model_kinds.name_of(kind)}]"
                continue
            text = " ".join((field.description or "").split())
            text = _gist(text) if brief else " ".join([text, *_choices(field)])
            yield left, f"{text} [{_default(field)}]"


def spelling(section: str, key: str, *, short: str) -> str:
    """Return a key as typed, without leading dashes: ``training.steps``; ``beam-size`` in a short section."""
    return key.replace("_", "-") if section == short else f"{section}.{key}"


def _print(lines: Callable[[int], Iterable[Text]]) -> None:
    console = _console.output()
    for line in lines(min(console.width, MAX_WIDTH)):
        console.print(line)


def _start(description: str) -> str:
    """Return the summary, the examples and the short paragraphs of a description."""
    paragraphs = description.split("\n\n")
    short = [
        paragraph
        for paragraph in paragraphs
        if paragraph.startswith(EXAMPLE) or paragraph.count("\n") < SHORT_PARAGRAPH
    ]
    return "\n\n".join(short)


def _groups(options: Sequence[Argument]) -> Iterator[list[Argument]]:
    """Split options where a group begins."""
    group: list[Argument] = []
    for option in options:
        if option.option.group and group:
            yield group
            group = []
        group.append(option)
    if group:
        yield group


def _left_column(argument: Argument) -> str:
    return f"{', '.join(argument.spellings)} {argument.metavar}".rstrip()


def _about(argument: Argument, *, brief: bool) -> str:
    text, default = argument.option.help, argument.default
    if brief:
        text = _sentence(text)
    if len(argument.choices) > 1 and argument.option.metavar:
        text += f" One of {', '.join(map(str, argument.choices))}."
    unset = default is MISSING or default is None or default is False or default in ("", ())
    return text if unset else f"{text} [{default}]"


def _sentence(text: str) -> str:
    """Return the first sentence of a text, and its default in brackets."""
    first = re.split(r"(?<=[.)])\s+(?=[A-Z\"(])", text, maxsplit=1)[0]
    default = re.search(r"\(default: [^)]*\)", text)
    return f"{first} {default[0]}" if default and default[0] not in first else first


def _gist(text: str) -> str:
    """Return the first clause of a setting's description, without text in parentheses."""
    clause = re.split(r"(?<=[.;])\s", re.sub(r" \([^()]*\)", "", text), maxsplit=1)[0]
    return f"{clause.rstrip('.;')}."


def _table(rows: Iterable[tuple[str, str]], width: int) -> Iterator[Text]:
    """Yield lines of two columns; a name that is wider than its column has a line of its own."""
    margin = " " * (INDENT + LEFT)
    for left, right in rows:
        lines = textwrap.wrap(right, width - len(margin), break_on_hyphens=False) or [""]
        if len(left) > LEFT - 2:
            yield Text.assemble(" " * INDENT, (left, "cyan"))
            yield from (Text(margin + line) for line in lines)
            continue
        yield Text.assemble(" " * INDENT, (left, "cyan"), " " * (LEFT - len(left)), lines[0])
        yield from (Text(margin + line) for line in lines[1:])


def _choices(field: FieldInfo) -> Iterator[str]:
    if get_origin(field.annotation) is Literal:
        yield f"One of {', '.join(map(str, get_args(field.annotation)))}."


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required"
    if isinstance(field.default, str | Mapping | tuple) and not field.default:
        return "none"
    return field.default if isinstance(field.default, str) else spell_value(field.default)
