"""export.json: the target of an export, the results of its verification, and its files' checksums."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from multihead.errors import UserError
from multihead.system import disk

NAME = "export.json"
FORMAT = 1
_REMEDY = "Export the run again, or copy the folder again as a whole."


def write(folder: Path, target: str, facts: Mapping[str, Any]) -> None:
    """Write the manifest of a folder's files.

    Args:
        folder: holds all other files of the export.
        target: the value of ``multihead export --to``.
        facts: results of verifying the export.
    """
    files = {path.name: _entry(path) for path in sorted(folder.iterdir())}
    content = {"format": FORMAT, "target": target, **facts, "files": files}
    (folder / NAME).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read(folder: Path) -> dict[str, Any]:
    """Return the content of a folder's manifest.

    Raises:
        UserError: there is none, or it is damaged.
    """
    try:
        content = json.loads(disk.content(folder / NAME))
        if (
            content["format"] == FORMAT
            and isinstance(content["target"], str)
            and isinstance(content["files"], dict)
        ):
            return dict(content)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise UserError(f"no whole {NAME}", place=str(folder), remedy=_REMEDY)


def faults(folder: Path) -> dict[str, str]:
    """Return the fault of each damaged file of an export, by name; empty if it is whole.

    Raises:
        UserError: there is no manifest, or it is damaged.
    """
    damaged = {}
    for name, entry in read(folder)["files"].items():
        path = folder / Path(name).name
        if not path.is_file():
            damaged[name] = "missing"
        elif _entry(path) != entry:
            size = path.stat().st_size
            cut = size != entry.get("size") if isinstance(entry, dict) else False
            damaged[name] = f"damaged: {size:,} bytes" if cut else "damaged: its content has changed"
    return damaged


def _entry(path: Path) -> dict[str, Any]:
    return {"size": disk.regular_size(path), "sha256": disk.sha256(path)}
