"""Folders that are there whole or not at all, whoever else builds the same one at the same time."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from multihead.disk import sync

ABANDONED_AFTER = 24 * 3600.0
"""Seconds without a write after which a temporary folder counts as left over from a crash."""


T = TypeVar("T")


def cache_root(named: str) -> Path:
    """Return the folder in which prepared data is kept: the one that is named, or the user's own cache."""
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "multihead"


_HELD: dict[Path, int] = {}
"""Folders that this process works with, and the open descriptors that say so to others."""


def in_use(folder: Path, find: Callable[[Path], T | None]) -> T | None:
    """Return what ``find`` finds in a folder of prepared data, which nobody clears while this process lives.

    A shared lock says so (see ``cache.clear``), and the folder's time of change is when it was last used.
    """
    folder = folder.absolute()
    if not folder.is_dir():
        return None
    try:
        held = _HELD.get(folder)
        if held is None or os.fstat(held).st_ino != folder.stat().st_ino:
            _HELD[folder] = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            if held is not None:
                os.close(held)
            fcntl.flock(_HELD[folder], fcntl.LOCK_SH)
        os.utime(folder)
    except OSError:
        pass  # somebody else's cache, or a file system without locks: it can be read all the same
    return find(folder)


@contextmanager
def built_whole(folder: Path, *, usable: Callable[[Path], bool]) -> Iterator[Path]:
    """Give a temporary folder to fill; sync it and rename it to ``folder`` at the end.

    After an exception nothing remains. Of two processes that build the same folder, the first one to
    finish wins, and the other one throws its own away. What is in the way and not ``usable`` is replaced.

    Raises:
        OSError: the disk is full, or the place cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder)
    with _temporary_folder(folder) as temporary:
        building = temporary / "building"
        building.mkdir()
        yield building
        assert usable(building)
        for path in [*building.rglob("*"), building]:
            sync(path)
        while not usable(folder):
            if folder.exists():
                _move(folder, temporary / "unusable")
            _move(building, folder)
    sync(folder.parent)


@contextmanager
def _temporary_folder(beside: Path) -> Iterator[Path]:
    temporary = Path(tempfile.mkdtemp(prefix=f"{beside.name}.", suffix=".tmp", dir=beside.parent))
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _move(folder: Path, to: Path) -> None:
    """Rename a folder, unless somebody else has just done something of the kind."""
    try:
        folder.rename(to)
    except FileNotFoundError:
        # It was taken away, and something may stand in its place by now.
        if not to.parent.exists():
            raise
    except OSError:
        if folder.exists() and not to.exists():
            raise


def _sweep(folder: Path) -> None:
    """Delete what builders of this folder that were killed have left behind."""
    for left in folder.parent.glob(f"{folder.name}.*.tmp"):
        try:
            newest = max(path.stat().st_mtime for path in [left, *left.rglob("*")])
        except FileNotFoundError:
            continue  # its builder has finished meanwhile
        if time.time() - newest > ABANDONED_AFTER:
            shutil.rmtree(left, ignore_errors=True)
