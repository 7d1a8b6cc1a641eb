"""Test sets of tasks other than translation, and their scores as ``multihead evaluate`` prints them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

Results = Mapping[str, Any]
"""Scores by name, ready for JSON."""
GENERATED = "generated"
"""Name of a generated test set."""


def test_sets(data: Any, files: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the files of each test set by name: those given, or the ones of the recipe's ``data.tests``."""
    return {files[0]: tuple(str(Path(file).absolute()) for file in files)} if files else dict(data.tests)
