"""Built-in recipes: TOML files in this folder, found by name.

A file may hold a table of recipes. ``[rows.ROW]`` in FILE.toml has the keys that the recipe FILE-ROW
changes in the file's own settings, and ``about``, its description.
"""

import difflib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of the built-in recipes, rows included, sorted."""
    return sorted([*_files(), *_rows()])


def path(name: str) -> Path | None:
    """Return the file of a built-in recipe, or None if there is no such recipe."""
    stem, _ = _rows().get(name, (name, ""))
    return FOLDER / f"{stem}.toml" if stem in _files() else None


def row(name: str) -> str:
    """Return the row of its file that a built-in recipe is; "" for a whole file."""
    return _rows().get(name, (name, ""))[1]


def suggestion(name: str) -> str:
    """Return a remedy for an unknown name: the closest recipe, or the command that lists them."""
    completions = [recipe for recipe in names() if name and recipe.startswith(name)]
    near = completions or difflib.get_close_matches(name, names(), n=1)
    return f'Did you mean "{near[0]}"?' if near else "List the built-in recipes: `multihead recipes`."


def model(name: str) -> str:
    """Return the model of a built-in recipe, from its file or those it extends."""
    while name:
        stem, row_name = _rows().get(name, (name, ""))
        document = tomllib.loads(_text(stem))
        for settings in (document.get("rows", {}).get(row_name, {}), document):
            if kind := settings.get("model", {}).get("kind"):
                return str(kind)
        name = document.get("extends", "")
    return "transformer"


def describe() -> dict[str, str]:
    """Return the description of each recipe by name: the first paragraph of its first comment.

    Rows follow their file, each with its ``about``.
    """
    described = {}
    for stem in sorted(_files()):
        described[stem] = first_comment(_text(stem))
        described |= {f"{stem}-{name}": settings["about"] for name, settings in _table(stem).items()}
    return described


def first_comment(text: str) -> str:
    """Return the first paragraph of the comment at the top of a TOML text, on one line."""
    lines = []
    for line in text.split("\n"):
        if not line.removeprefix("#").strip() or not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines)


def _files() -> list[str]:
    return [file.stem for file in FOLDER.glob("*.toml")]


@cache
def _rows() -> dict[str, tuple[str, str]]:
    """Return the file and the row of each recipe that is a row, by its name."""
    return {f"{stem}-{row_name}": (stem, row_name) for stem in _files() for row_name in _table(stem)}


def _table(stem: str) -> dict[str, Any]:
    """Return the rows of a file by name."""
    text = _text(stem)
    rows: dict[str, Any] = tomllib.loads(text)["rows"] if "[rows." in text else {}
    return rows


def _text(stem: str) -> str:
    return (FOLDER / f"{stem}.toml").read_text(encoding="utf-8")
