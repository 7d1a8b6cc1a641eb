"""Recipe keys on the command line: ``--section.key value``, and their help."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from multihead.cli import _console
from multihead.cli._effect import Used
from multihead.recipe import DEFAULT_KIND, SECTION_NAMES, model_kinds, section_types, tasks
from multihead.recipe.settings import Settings
from multihead.recipe.values import spelled

Types = Mapping[str, type[Settings]]
"""Settings class of each section."""


def split(
    arguments: Sequence[str],
    *,
    sections: Sequence[str],
    short: str = "",
    task: str = model_kinds.DEFAULT_TASK,
) -> tuple[list[str], dict[str, str]]:
    """Separate recipe keys from the other arguments; the last value of a repeated key counts.

    An option with a dot in its name is a key, in which dashes stand for underscores. A key without a value
    means "true", as for a switch; the recipe rejects it if the key is no switch.

    >>> split(["my", "--training.steps", "80", "--training.compile"], sections=["training"])
    (['my'], {'training.steps': '80', 'training.compile': 'true'})
    >>> split(["run", "--beam-size=4"], sections=["search"], short="search")
    (['run'], {'search.beam_size': '4'})
    """
    bare = tasks.get_task(task).sections[short].model_fields if short else ()
    rest: list[str] = []
    given: dict[str, str] = {}
    remaining = iter(enumerate(arguments))
    for position, argument in remaining:
        name, equals, value = argument.partition("=")
        key = _key(name, sections, short, bare)
        if key is None:
            rest.append(argument)
            continue
        following = arguments[position + 1] if position + 1 < len(arguments) else "--"
        if not equals and not following.startswith("--"):
            _, value = next(remaining)
            equals = "="
        given[key] = value if equals else "true"
    return rest, given


def _key(name: str, sections: Sequence[str], short: str, bare: Collection[str]) -> str | None:
    """Return the dotted key of an option, None if it is not a recipe key.

    Args:
        name: the option as typed.
        sections: sections that the command accepts.
        short: section whose keys may omit its name.
        bare: keys of that section.
    """
    key = name.removeprefix("--").replace("-", "_")
    if not name.startswith("--") or not sections:
        return None
    if key in bare:
        return f"{short}.{key}"
    section, dot, _ = key.partition(".")
    # The command ignores sections other than its own, so their keys must not be accepted.
    return key if dot and (section in sections or section not in SECTION_NAMES) else None


def spellings(
    sections: Sequence[str], *, short: str = "", types: Types | None = None, used: Used | None = None
) -> list[str]:
    """Return all keys as typed: ``--training.steps``, or ``--beam-size`` in a short section."""
    return [
        f"--{_spelled(name, key, bare=name == short)}"
        for name, kind in _chosen(sections, types).items()
        for key in kind.model_fields
        if key in (used or {}).get(name, kind.model_fields)
    ]


def _spelled(section: str, key: str, *, bare: bool) -> str:
    return key.replace("_", "-") if bare else f"{section}.{key}"


def _chosen(sections: Sequence[str], types: Types | None) -> Types:
    types = section_types(DEFAULT_KIND) if types is None else types
    return {name: types[name] for name in sections if name in types}


def show(
    sections: Sequence[str],
    *,
    short: str = "",
    types: Types | None = None,
    used: Used | None = None,
) -> None:
    """Print every key with its description and default, section by section.

    Args:
        sections: sections to print.
        short: section whose keys are printed without its name.
        types: settings class of each section; None: those of the default model.
        used: keys to print, by section; all keys of a section that is not listed.
    """
    console = _console.output()
    console.print("\nRecipe keys, with their defaults in brackets:\n")
    for name, kind in _chosen(sections, types).items():
        heading = f"{name}: {(kind.__doc__ or '').split(chr(10))[0]}"
        table = Table.grid(padding=(0, 2))
        table.add_column(width=32, no_wrap=True)
        table.add_column()
        for row in _rows(name, kind, bare=name == short, used=(used or {}).get(name)):
            table.add_row(*row)
        console.print(Text(heading, style="bold"), soft_wrap=False)
        console.print(Padding(table, (0, 0, 0, 2)), soft_wrap=False)
        console.print()
    if "model" in sections:
        console.print("Other models have other keys: add a recipe or --model.kind to --help.\n")


def _rows(
    section: str, kind: type[Settings], *, bare: bool, used: Collection[str] | None
) -> Iterator[tuple[Text, str]]:
    if section == "model":
        own = model_kinds.name_of(kind)
        yield Text("--model.kind"), f"Model: one of {', '.join(model_kinds.names())}. [{own}]"
    for key, field in kind.model_fields.items():
        if used is not None and key not in used:
            continue
        name = _spelled(section, key, bare=bare)
        yield Text(f"--{name}"), " ".join([*_description(field), f"[{_default(field)}]"])


def _description(field: FieldInfo) -> Iterator[str]:
    yield " ".join((field.description or "").split())
    if get_origin(field.annotation) is Literal:
        yield f"One of {', '.join(map(str, get_args(field.annotation)))}."


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required"
    if isinstance(field.default, str | Mapping | tuple) and not field.default:
        return "none"
    return field.default if isinstance(field.default, str) else spelled(field.default)
