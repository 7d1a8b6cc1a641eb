"""The wheel takes every file of the package that is not Python."""

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "multihead"


def unpacked(patterns: list[str]) -> list[str]:
    """Return the files that no pattern of the package data matches; ``*`` does not cross a folder."""
    files = (
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*"))
        if path.is_file() and path.suffix not in (".py", ".pyc", ".so")
    )
    matches = [(pattern, pattern.count("/")) for pattern in patterns]
    return [
        file
        for file in files
        if not any(file.count("/") == depth and fnmatchcase(file, pattern) for pattern, depth in matches)
    ]


def test_every_file_that_is_not_python_is_in_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["multihead"]
    assert unpacked(patterns) == []
    assert "inspect/report/report.css" in unpacked([name for name in patterns if "report" not in name])
