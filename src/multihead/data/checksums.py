"""Checksums of a folder of prepared data: checksums.json holds the SHA-256 of every other file in it."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from multihead.system import disk
from multihead.system.cores import usable_cores
from multihead.system.safe_parsing import parse_json

NAME = "checksums.json"


class DamagedError(ValueError):
    """A file of prepared data is not as it was written."""


def write(folder: Path) -> None:
    """Write the checksums of a folder that is complete. Raises ``OSError`` if the disk refuses."""
    text = json.dumps(_find(folder, _files(folder)), indent=2)
    (folder / NAME).write_text(f"{text}\n", encoding="utf-8")


def check(folder: Path, *names: str) -> None:
    """Compare the files of a folder, by default all, with their checksums.

    They are read whole, on all cores: a gigabyte takes a second or less, and training reads it anyway.

    Raises:
        DamagedError: a file is altered, truncated or missing, or the folder has no checksums.
        OSError: a file cannot be read.
    """
    try:
        checksums = parse_json(disk.content(folder / NAME))
        expected = {name: str(checksums[name]) for name in names or checksums}
    except FileNotFoundError:
        raise DamagedError("it has no checksums") from None
    except (ValueError, KeyError, TypeError):
        raise DamagedError(f"{NAME} is damaged") from None
    if not expected:
        raise DamagedError(f"{NAME} is damaged")
    there = _files(folder)
    if missing := sorted(expected.keys() - there):
        raise DamagedError(f"{missing[0]} is missing")
    actual = _find(folder, expected.keys() & there)
    if altered := sorted(name for name in expected if expected[name] != actual[name]):
        raise DamagedError(f"{altered[0]} is damaged")


def _files(folder: Path) -> set[str]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in paths} - {NAME}


def _find(folder: Path, names: set[str]) -> dict[str, str]:
    """Return the SHA-256 of each file, by name."""
    ordered = sorted(names)
    with ThreadPoolExecutor(usable_cores()) as pool:
        return dict(zip(ordered, pool.map(disk.sha256, (folder / name for name in ordered)), strict=True))
