"""Counts over the package's own code, which tests hold at their values."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = (ROOT / "src" / "multihead", ROOT / "packages" / "documents" / "src")


def class_names_in_two_modules() -> dict[str, list[str]]:
    """Return the names of classes that several modules define at their top level, with the modules' files."""
    modules: dict[str, list[str]] = defaultdict(list)
    for room in ROOMS:
        for file in sorted(room.rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            for name in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}:
                modules[name].append(file.relative_to(ROOT).as_posix())
    return {name: files for name, files in sorted(modules.items()) if len(files) > 1}
