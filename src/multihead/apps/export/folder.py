"""Atomic creation of a folder: it appears complete or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from multihead.errors import UserError
from multihead.run import files
from multihead.system import disk

T = TypeVar("T")


def write_folder(folder: Path, fill: Callable[[Path], T]) -> T:
    """Create a folder atomically from the files that ``fill`` writes into a temporary one; return its result.

    Raises:
        UserError: the folder is not empty, or it cannot be written.
    """
    refuse_used(folder)
    with files.report_disk_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with files.beside(folder) as partial:
            result = fill(partial)
            for path in [*partial.rglob("*"), partial]:
                disk.sync(path)
            if folder.exists():
                folder.rmdir()
            partial.replace(folder)
        disk.sync(folder.parent)
    return result


def refuse_used(folder: Path) -> None:
    """Raise ``UserError`` unless the folder is missing or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError("not an empty folder", place=str(folder), remedy="Name a new folder.")
