"""The keys of recipes on the command line: ``--section.key value``, and their help."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from multihead import models
from multihead.cli import _console
from multihead.recipe import DEFAULT_KIND, SECTION_NAMES, section_types
from multihead.recipe.values import spelled
from multihead.settings import Settings, tasks

Types = Mapping[str, type[Settings]]
"""The settings class of each section."""


def split(
    arguments: Sequence[str],
    *,
    sections: Sequence[str],
    short: str = "",
    task: str = models.DEFAULT_TASK,
) -> tuple[list[str], dict[str, str]]:
    """Return the other arguments, and the keys with their values as texts; the last of a key counts.

    An option with a dot in its name is a key. Dashes in it stand for underscores. A key without a value
    means "true", as is natural for a switch; the recipe refuses it where that is no value.

    >>> split(["my", "--training.steps", "80", "--training.compile"], sections=["training"])
    (['my'], {'training.steps': '80', 'training.compile': 'true'})
    >>> split(["run", "--beam-size=4"], sections=["search"], short="search")
    (['run'], {'search.beam_size': '4'})
    """
    bare = tasks.sections(task)[short].model_fields if short else ()
    rest: list[str] = []
    given: dict[str, str] = {}
    waiting = iter(enumerate(arguments))
    for place, argument in waiting:
        name, equals, value = argument.partition("=")
        key = _key(name, sections, short, bare)
        if key is None:
            rest.append(argument)
            continue
        following = arguments[place + 1] if place + 1 < len(arguments) else "--"
        if not equals and not following.startswith("--"):
            _, value = next(waiting)
            equals = "="
        given[key] = value if equals else "true"
    return rest, given


def _key(name: str, sections: Sequence[str], short: str, bare: Collection[str]) -> str | None:
    """Return the dotted key that an option's name means, None if it is another option.

    Args:
        name: as it is typed.
        sections: whose keys are taken.
        short: the section whose keys need not name it.
        bare: those keys.
    """
    key = name.removeprefix("--").replace("-", "_")
    if not name.startswith("--") or not sections:
        return None
    if key in bare:
        return f"{short}.{key}"
    section, dot, _ = key.partition(".")
    # Elsewhere than in its few sections a command would not look, so a key of another one is no key here.
    return key if dot and (section in sections or section not in SECTION_NAMES) else None


def spellings(sections: Sequence[str], *, short: str = "", types: Types | None = None) -> list[str]:
    """Return all keys as they are typed: ``--training.steps``, or ``--beam-size`` in a short section."""
    return [
        f"--{_spelled(name, key, bare=name == short)}"
        for name, kind in _chosen(sections, types).items()
        for key in kind.model_fields
    ]


def _spelled(section: str, key: str, *, bare: bool) -> str:
    return key.replace("_", "-") if bare else f"{section}.{key}"


def _chosen(sections: Sequence[str], types: Types | None) -> Types:
    types = section_types(DEFAULT_KIND) if types is None else types
    return {name: types[name] for name in sections if name in types}


def show(sections: Sequence[str], *, short: str = "", types: Types | None = None) -> None:
    """Print every key with its meaning and default, section by section.

    Args:
        sections: which ones.
        short: a section whose keys are shown without its name.
        types: the settings class of each section; default: those of the default model.
    """
    console = _console.output()
    console.print("\nKeys of a recipe, with what holds where no recipe says anything else:\n")
    for name, kind in _chosen(sections, types).items():
        heading = f"{name}: {(kind.__doc__ or '').split(chr(10))[0]}"
        table = Table.grid(padding=(0, 2))
        table.add_column(width=32, no_wrap=True)
        table.add_column()
        for row in _rows(name, kind, bare=name == short):
            table.add_row(*row)
        console.print(Text(heading, style="bold"), soft_wrap=False)
        console.print(Padding(table, (0, 0, 0, 2)), soft_wrap=False)
        console.print()
    if "model" in sections:
        console.print("Another model has other keys: name its recipe, or --model.kind, with --help.\n")


def _rows(section: str, kind: type[Settings], *, bare: bool) -> Iterator[tuple[Text, str]]:
    if section == "model":
        own = kind.__module__.rpartition(".")[2]
        yield Text("--model.kind"), f"Which model: {', '.join(models.kinds())}. [{own}]"
    for key, field in kind.model_fields.items():
        name = _spelled(section, key, bare=bare)
        yield Text(f"--{name}"), " ".join([*_meaning(field), f"[{_default(field)}]"])


def _meaning(field: FieldInfo) -> Iterator[str]:
    yield " ".join((field.description or "").split())
    if get_origin(field.annotation) is Literal:
        yield f"One of {', '.join(map(str, get_args(field.annotation)))}."


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "needed"
    if isinstance(field.default, str | Mapping | tuple) and not field.default:
        return "none"
    return field.default if isinstance(field.default, str) else spelled(field.default)
