"""Sweep files: a recipe, and a list or a grid of changes.

# A sentence about the sweep.
recipe = "multi30k-de-en"            # recipe of members that name none
base = "h8,seed=1"                   # the baseline member

[set]                                # settings of all members
training.steps = 2000

[[members]]
name = "h8"
reference = { bleu = 25.8 }          # published results, shown next to ours

[[members]]
name = "h1"
model.num_heads = 1

[grid]                               # every member with every combination
training.seed = [1, 2]

[plot]                               # plot.svg: a score over a setting
x = "model.num_heads"
y = "bleu"

[cost]                               # also measure attention's time and memory at these lengths
lengths = [256, 512]
"""

import difflib
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.recipe import SECTION_NAMES, Recipe
from multihead.recipe.built_in import first_comment
from multihead.recipe.built_in import sweeps as builtin
from multihead.recipe.settings import Settings
from multihead.system import disk, plugins
from multihead.system.safe_parsing import parse_toml
from multihead.tasks.translation.without_effect import refuse_without_effect
from multihead.workflows.suggested_texts import fill_recipe, open_recipe

SWEEP_KEYS, MEMBER_KEYS = (
    ("name", "recipe", "base", "set", "members", "grid", "plot", "cost"),
    ("name", "recipe", "reference"),
)
PLOT_KEYS = ("x", "y", "series", "log")
MAX_MEMBERS, MAX_LENGTH = 1000, 1_000_000


@dataclass(frozen=True)
class Member:
    """One training run of a sweep.

    Attributes:
        name: name of the member and of its run folder.
        recipe: its complete recipe.
        changed: its settings from the sweep file, by dotted key.
        reference: published results, by metric.
    """

    name: str
    recipe: Recipe[Settings]
    changed: Mapping[str, object]
    reference: Mapping[str, float]


@dataclass(frozen=True)
class Plot:
    """The axes of a sweep's plot.

    Attributes:
        x: the setting on the horizontal axis, a number for every member.
        y: the metric on the vertical axis, on the first test set, else in validation.
        series: the setting that has a line for each of its values; "" for a single line.
        log: whether the horizontal axis is logarithmic.
    """

    x: str
    y: str
    series: str = ""
    log: bool = False


@dataclass(frozen=True)
class Sweep:
    """A set of related training runs.

    Attributes:
        name: name of the sweep and of the folder with its runs.
        about: the comment at the top of its file.
        base: the baseline member; "" for none.
        members: the members in the order of the file.
        plot: the axes of its plot, if any.
        lengths: lengths of text at which the cost of each kind of attention is measured.
    """

    name: str
    about: str
    base: str
    members: tuple[Member, ...]
    plot: Plot | None = None
    lengths: tuple[int, ...] = ()


def read_sweep(name_or_path: str, overrides: Mapping[str, object] | None = None, only: str = "*") -> Sweep:
    """Return a built-in sweep, or the sweep in a TOML file, with all its recipes checked.

    Args:
        name_or_path: name of a built-in sweep, or path of a TOML file.
        overrides: settings of all members by dotted key; they take precedence over the file.
        only: shell pattern of the names of the members that must have these keys; members of other models may
            lack them and keep their own settings.

    Raises:
        UserError: no such sweep; not TOML; an unknown key; an invalid recipe.
    """
    path = _find(name_or_path)
    try:
        text = disk.content(path).decode("utf-8-sig")
        content = parse_toml(text)
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror or error})", place=str(path)) from None
    except ValueError as error:  # not UTF-8, not TOML, too large
        raise UserError(f"cannot be read: {error}", place=str(path)) from None
    _check_keys(content, SWEEP_KEYS, str(path))
    members = tuple(_members(content, path, overrides or {}, only))
    names = [member.name for member in members]
    for name, times in Counter(names).items():
        if times > 1:
            raise UserError(f'two members are named "{name}"', place=str(path))
    base = _string(content, "base", str(path))
    if base and base not in names:
        raise UserError(f'base = "{base}", but no member has this name', place=str(path))
    name = str(content.get("name", path.stem))
    plot = _plot(content, members, str(path))
    return Sweep(name, first_comment(text), base, members, plot, _lengths(content, str(path)))


def _find(name: str) -> Path:
    if name.endswith(".toml") or "/" in name:
        return Path(name)
    if name not in builtin.names():
        if Path(name).is_file():
            raise UserError("not a TOML file: its name does not end in .toml", place=name)
        raise UserError(
            f'there is no sweep "{name}"',
            remedy=f"Name a TOML file, or a built-in sweep: {', '.join(builtin.names())}.",
        )
    return builtin.path(name)


def _members(
    content: Mapping[str, Any], path: Path, overrides: Mapping[str, object], only: str
) -> Iterator[Member]:
    for_all = _flat(_table(content, "set", str(path)), f"{path}: [set]")
    grid: dict[str, list[object]] = {}
    for key, values in _flat(_table(content, "grid", str(path)), f"{path}: [grid]").items():
        if not isinstance(values, list) or not values:
            raise UserError(f"{key} must be a list of values", place=f"{path}: [grid]")
        grid[key] = values
    listed = content.get("members", [{}])
    if not (isinstance(listed, list) and all(isinstance(member, dict) for member in listed)):
        raise UserError("members must be written as [[members]]", place=str(path))
    if not listed:
        raise UserError("there are no members", place=str(path), remedy="Add [[members]] or a [grid].")
    count = len(listed) * math.prod(map(len, grid.values()))
    if count > MAX_MEMBERS:
        fact = f"{count:,} members, more than {MAX_MEMBERS:,}"
        raise UserError(fact, place=str(path), remedy="Vary fewer settings at a time.")
    for number, member in enumerate(listed, start=1):
        place = f"{path}: member {member.get('name', number)}"
        _check_keys(member, (*MEMBER_KEYS, *SECTION_NAMES), place)
        of_member = _flat({key: value for key, value in member.items() if key in SECTION_NAMES}, place)
        for point in product(*grid.values()):
            at = dict(zip(grid, point, strict=True))
            changed = {**for_all, **of_member, **at}
            if isinstance(kind := changed.get("model.kind"), str):
                changed["model.kind"] = _model(kind, path, place)
            if typed := sorted(grid.keys() & overrides.keys()):
                fact = f"the grid already varies {typed[0]}"
                raise UserError(fact, place=f"--{typed[0]}", remedy="Leave it out, or change the grid.")
            name = _name(_string(member, "name", place), at, place)
            recipe_name = _string(member, "recipe", place) or _string(content, "recipe", str(path))
            over = overrides
            try:
                recipe = _recipe(recipe_name, name, {**changed, **over}, path)
            except UserError:
                if fnmatchcase(name, only):
                    raise
                over = {}
                recipe = _recipe(recipe_name, name, changed, path)
            yield Member(
                name,
                recipe,
                {
                    "recipe": recipe_name,
                    **{key: over.get(key, value) for key, value in {**of_member, **at}.items()},
                },
                _reference(member, place),
            )


def _plot(content: Mapping[str, Any], members: tuple[Member, ...], path: str) -> Plot | None:
    """Return the plot's axes, checked here because they are first used after all training."""
    if "plot" not in content:
        return None
    place = f"{path}: [plot]"
    axes = _table(content, "plot", path)
    _check_keys(axes, PLOT_KEYS, place)
    x, y, series = (_string(axes, key, place) for key in ("x", "y", "series"))
    if not x or not y:
        raise UserError("x or y is missing", place=place, remedy='Write x = "model.num_layers", y = "loss".')
    log = axes.get("log", False)
    if not isinstance(log, bool):
        raise UserError("log must be true or false", place=place)
    for member in members:
        values = {**member.recipe.values(), **member.changed}
        for key in (x, series or x):
            if key not in values:
                raise UserError(f'member {member.name} has no setting "{key}"', place=place)
        if isinstance(values[x], bool) or not isinstance(values[x], int | float):
            raise UserError(f"{x} is not a number but {values[x]} in member {member.name}", place=place)
    return Plot(x, y, series, log)


def _model(kind: str, path: Path, place: str) -> str:
    """Return the name of a model; the path of a Python file is relative to the sweep's folder."""
    try:
        return plugins.record_of(kind, path.parent) if plugins.is_path(kind) else kind
    except UserError as error:
        raise UserError(error.fact, place=place, remedy=error.remedy) from None


def _string(table: Mapping[str, Any], key: str, place: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise UserError(f"{key} must be a string", place=place, remedy=f'Write {key} = "{value}".')
    return value


def _table(table: Mapping[str, Any], key: str, place: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise UserError(f"{key} must be a table", place=place, remedy=f"Write [{key}], and keys below it.")
    return value


def _lengths(content: Mapping[str, Any], place: str) -> tuple[int, ...]:
    """Return the lengths of [cost]; none without the table."""
    cost = _table(content, "cost", place)
    _check_keys(cost, ("lengths",), f"{place}: [cost]")
    lengths = cost.get("lengths", [])
    if not isinstance(lengths, list) or any(type(n) is not int or not 1 <= n <= MAX_LENGTH for n in lengths):
        fact = f"lengths must be a list of integers from 1 to {MAX_LENGTH:,}"
        raise UserError(fact, place=f"{place}: [cost]", remedy="Write lengths = [256, 512].")
    return tuple(lengths)


def _reference(member: Mapping[str, Any], place: str) -> Mapping[str, float]:
    """Return published numbers, checked here because they are first used after all training."""
    numbers = _table(member, "reference", place)
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise UserError(f"reference.{name} must be a number", place=place, remedy="Write it as 25.8.")
    return numbers


def _recipe(base: str, name: str, overrides: Mapping[str, object], path: Path) -> Recipe[Settings]:
    place = f"{path}: member {name}"
    if not base:
        raise UserError("neither the member nor the sweep names a recipe", place=place)
    file = str(path.parent / base) if base.endswith(".toml") else base
    try:
        given = {"name": name, **overrides}
        plain = open_recipe(file, given)
        recipe = (
            fill_recipe(file, plain, given, run=None, init_run=None) if plain else recipes.load(file, given)
        )
        refuse_without_effect(overrides, recipe)
        return recipe
    except UserError as error:
        where = (error.place or "").removeprefix("--")
        place = f"{place}: {where}" if where else place
        raise UserError(error.fact, place=place, remedy=error.remedy) from None


def _name(name: str, point: Mapping[str, object], place: str) -> str:
    values = [f"{key.rpartition('.')[2]}={value}" for key, value in point.items()]
    whole = ",".join([*([name] if name else []), *values])
    remedy = 'Name it with letters and digits, as in name = "wider".'
    if not whole or not whole.isprintable() or whole[0] in "./" or "/" in whole:
        raise UserError(f'its name "{whole}" cannot name a folder', place=place, remedy=remedy)
    return whole


def _flat(sections: Mapping[str, Any], place: str) -> dict[str, object]:
    """Return ``{"training.steps": 3}`` for ``{"training": {"steps": 3}}``."""
    _check_keys(sections, SECTION_NAMES, place)
    for section, values in sections.items():
        if not isinstance(values, dict):
            raise UserError(f"{section} is a section; write its keys as {section}.KEY", place=place)
    return {
        f"{section}.{key}": value for section, values in sections.items() for key, value in values.items()
    }


def _check_keys(table: Mapping[str, object], allowed: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in allowed:
            near = difflib.get_close_matches(key, allowed, n=1)
            remedy = f'Did you mean "{near[0]}"?' if near else f"Known keys are {', '.join(allowed)}."
            raise UserError(f'unknown key "{key}"', place=place, remedy=remedy)
