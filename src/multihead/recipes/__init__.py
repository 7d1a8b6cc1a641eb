"""The recipes that ship with the package: TOML files in this folder, found by their names."""

import difflib
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of the built-in recipes, in alphabetical order."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def path(name: str) -> Path | None:
    """Return the file of a built-in recipe, None if there is none of this name."""
    return FOLDER / f"{name}.toml" if name in names() else None


def suggestion(name: str) -> str:
    """Say what may have been meant by a name that is not one of a recipe."""
    begin_so = [known for known in names() if name and known.startswith(name)]
    near = begin_so or difflib.get_close_matches(name, names(), n=1)
    return f'Did you mean "{near[0]}"?' if near else "`multihead recipes` lists the built-in ones."


def model(name: str) -> str:
    """Return the kind of model of a built-in recipe, read from its file and those that it extends."""
    while name:
        given = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
        if kind := given.get("model", {}).get("kind"):
            return str(kind)
        name = given.get("extends", "")
    return "transformer"


def describe() -> dict[str, str]:
    """Return what each recipe is, by its name: the first paragraph of its first comment, in one line."""
    return {name: first_comment((FOLDER / f"{name}.toml").read_text(encoding="utf-8")) for name in names()}


def first_comment(text: str) -> str:
    """Return the first paragraph of the comment that a TOML text begins with, in one line."""
    lines = []
    for line in text.split("\n"):
        if not line.removeprefix("#").strip() or not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines)
