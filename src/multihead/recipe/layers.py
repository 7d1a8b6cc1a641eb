"""The layers of a recipe: the recipes it extends, its own file, the command line."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from multihead.errors import UserError
from multihead.recipe import built_in as recipes
from multihead.recipe import model_kinds
from multihead.recipe.sections import SECTION_NAMES
from multihead.system import disk, plugins
from multihead.system.safe_parsing import TooLargeError, parse_toml

LINES_SEARCHED = 1000
"""Errors name the line in files of up to this many lines, because the search takes quadratic time."""
CHARACTERS_SEARCHED = 50_000
MAX_CHAIN = 30
"""Maximum number of recipes that extend each other."""


@dataclass(frozen=True)
class Layer:
    """Values from one source.

    Attributes:
        place: the file; "" if there is none.
        values: ``{section: {key: value}}``.
        text: contents of the file.
        typed_in: True for the command line.
        within: keys of the table of the text that has the values; () for the whole text.
    """

    place: str
    values: Mapping[str, Mapping[str, object]]
    text: str = field(default="", repr=False)
    typed_in: bool = False
    within: tuple[str, ...] = ()

    def kind(self) -> object:
        """Return the model that it names; of a Python file's path the file's record (``plugins``).

        Raises:
            UserError: a file that cannot be read, or one that only a recipe names, not the user.
        """
        kind = self.values.get("model", {}).get("kind")
        if not isinstance(kind, str) or not plugins.is_path(kind):
            return kind
        try:
            if self.typed_in:
                return model_kinds.name_kind(kind)
            return plugins.record_of(kind, Path(self.place).parent)
        except UserError as error:
            fact = f"{error.place}: {error.fact}" if error.place else error.fact
            raise UserError(fact, place=self.where("model", "kind"), remedy=error.remedy) from None

    def where(self, *keys: str) -> str:
        """Return the place of a key in errors: ``my.toml:12``, or ``--training.steps``."""
        if self.typed_in:
            return "--" + ".".join(keys)
        line = _line_of((*self.within, *keys), self.text)
        return f"{self.place}:{line}" if line else self.place or ".".join(keys)


def _line_of(keys: tuple[str, ...], text: str) -> int | None:
    """Return the line of the text that sets ``keys``."""
    lines = text[:CHARACTERS_SEARCHED].split("\n")[:LINES_SEARCHED]
    for number in range(1, len(lines) + 1):
        try:
            value: object = tomllib.loads("\n".join(lines[:number]) + "\n")
        except tomllib.TOMLDecodeError:
            continue
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return number
    return None


@dataclass(frozen=True)
class RecipeLayers:
    """A recipe's name and layers, from the most general to the most specific."""

    name: str
    layers: tuple[Layer, ...]


def read(name_or_path: str | Path) -> RecipeLayers:
    """Read a built-in recipe or a TOML file, and the recipes it extends.

    Args:
        name_or_path: which.

    Raises:
        UserError: no such recipe, invalid TOML, or circular ``extends``.
    """
    place, row = _find(str(name_or_path), beside=Path())
    return _extend(_text(place), place, row, seen=())


def parse(text: str, place: str) -> RecipeLayers:
    """Read a recipe from its text; errors name ``place``."""
    return _extend(text, Path(place), "", seen=())


def _find(name: str, *, beside: Path) -> tuple[Path, str]:
    """Return the file and the row of a recipe, given a path (.toml, or in a folder) or a built-in name."""
    if name.endswith(".toml") or "/" in name:
        return beside / name, ""
    file = recipes.path(name)
    if file is None:
        if (beside / name).is_file():
            return beside / name, ""
        raise UserError(f'no recipe "{name}"', remedy=recipes.suggestion(name))
    return file, recipes.row(name)


def _text(path: Path) -> str:
    try:
        return disk.content(path).decode("utf-8-sig")
    except FileNotFoundError:
        raise UserError("no such file", place=str(path), remedy=recipes.suggestion(path.stem)) from None
    except IsADirectoryError:
        raise UserError("is a folder", place=str(path), remedy="A recipe is a TOML file.") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UserError("not UTF-8", place=f"{path}:{line}", remedy="Save the recipe as UTF-8.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise UserError(f"cannot be read: {error}", place=str(path)) from None


def _extend(text: str, path: Path, row: str, seen: tuple[Path, ...]) -> RecipeLayers:
    try:
        document = parse_toml(text)
    except TooLargeError as error:
        raise UserError(str(error), place=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        fact, line, _ = re.split(r" \(at line (\d+), .*|$", str(error), maxsplit=1)
        raise UserError(f"not TOML: {fact}", place=f"{path}:{line}" if line else str(path)) from None
    except ValueError:  # Python's own limit
        raise UserError("a number with too many digits", place=str(path)) from None
    name = document.pop("name", path.stem)
    base = document.pop("extends", None)
    rows = document.pop("rows", {}) if path.parent == recipes.FOLDER else {}
    layer = Layer(str(path), document, text)
    for key, value in (("name", name), ("extends", base)):
        if value is not None and not (isinstance(value, str) and value):
            raise UserError(f"{key} must be a string", place=layer.where(key))
    for section, values in document.items():
        if section in SECTION_NAMES and not isinstance(values, dict):
            raise UserError(f"{section} is a section, not a value", place=layer.where(section))
    last: tuple[Layer, ...] = (layer,)
    if row:
        changes = {section: values for section, values in rows[row].items() if section != "about"}
        last, name = (*last, replace(layer, values=changes, within=("rows", row))), f"{name}-{row}"
    if base is None:
        return RecipeLayers(name, last)
    try:
        place, base_row = _find(base, beside=path.parent)
    except UserError as error:
        raise UserError(error.fact, place=layer.where("extends"), remedy=error.remedy) from None
    below, trail = _text(place), (*seen, path.resolve())
    if place.resolve() in trail:
        raise UserError("this recipe extends itself", place=layer.where("extends"))
    if len(trail) > MAX_CHAIN:
        raise UserError(f"more than {MAX_CHAIN} recipes extend each other", place=layer.where("extends"))
    return RecipeLayers(name, (*_extend(below, place, base_row, trail).layers, *last))
