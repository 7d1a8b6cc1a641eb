"""Built-in recipes: TOML files in this folder, found by name."""

import difflib
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of the built-in recipes, sorted."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def path(name: str) -> Path | None:
    """Return the file of a built-in recipe, or None if there is no such recipe."""
    return FOLDER / f"{name}.toml" if name in names() else None


def suggestion(name: str) -> str:
    """Return a remedy for an unknown name: the closest recipe, or the command that lists them."""
    completions = [recipe for recipe in names() if name and recipe.startswith(name)]
    near = completions or difflib.get_close_matches(name, names(), n=1)
    return f'Did you mean "{near[0]}"?' if near else "List the built-in recipes: `multihead recipes`."


def model(name: str) -> str:
    """Return the model of a built-in recipe, from its file or those it extends."""
    while name:
        given = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
        if kind := given.get("model", {}).get("kind"):
            return str(kind)
        name = given.get("extends", "")
    return "transformer"


def describe() -> dict[str, str]:
    """Return the description of each recipe by name: the first paragraph of its first comment."""
    return {name: first_comment((FOLDER / f"{name}.toml").read_text(encoding="utf-8")) for name in names()}


def first_comment(text: str) -> str:
    """Return the first paragraph of the comment at the top of a TOML text, on one line."""
    lines = []
    for line in text.split("\n"):
        if not line.removeprefix("#").strip() or not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines)
