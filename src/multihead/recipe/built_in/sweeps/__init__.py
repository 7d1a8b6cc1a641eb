"""The sweeps that ship with the package: TOML files in this folder, found by their names."""

from pathlib import Path

from multihead.recipe.built_in import first_comment

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of the built-in sweeps, in alphabetical order."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def path(name: str) -> Path:
    """Return the file of a built-in sweep."""
    return FOLDER / f"{name}.toml"


def describe() -> dict[str, str]:
    """Return what each sweep is, by its name."""
    return {name: first_comment(path(name).read_text(encoding="utf-8")) for name in names()}
