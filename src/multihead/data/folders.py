"""Atomically built folders, shared safely between concurrent processes."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from multihead.system.disk import sync

STALE_AFTER = 24 * 3600.0
"""Seconds without a write after which a temporary folder counts as left by a crash."""


T = TypeVar("T")


_LOCKS: dict[Path, int] = {}
"""Folders this process has a shared lock on, with the locked file descriptors."""


def read_locked(folder: Path, find: Callable[[Path], T | None]) -> T | None:
    """Return ``find(folder)``, holding a shared lock on the folder until this process ends.

    The lock keeps ``cache.clear`` away. The folder's modification time records its last use.
    """
    folder = folder.absolute()
    if not folder.is_dir():
        return None
    try:
        held = _LOCKS.get(folder)
        if held is None or os.fstat(held).st_ino != folder.stat().st_ino:
            _LOCKS[folder] = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            if held is not None:
                os.close(held)
            fcntl.flock(_LOCKS[folder], fcntl.LOCK_SH)
        os.utime(folder)
    except OSError:
        pass  # another user's cache, or a file system without locks: reading still works
    return find(folder)


@contextmanager
def atomic_folder(folder: Path, *, usable: Callable[[Path], bool]) -> Iterator[Path]:
    """Give a temporary folder to fill; sync it and rename it to ``folder`` at the end.

    After an exception nothing remains. If two processes build the same folder, the first to finish wins and
    the other discards its result. An existing folder that is not ``usable`` is replaced.

    Raises:
        OSError: the disk is full, or the parent folder is not writable.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder)
    with tempfile.TemporaryDirectory(
        prefix=f"{folder.name}.", suffix=".tmp", dir=folder.parent, ignore_cleanup_errors=True
    ) as name:
        temporary = Path(name)
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


def _move(folder: Path, to: Path) -> None:
    """Rename a folder, unless another process has just moved either."""
    try:
        folder.rename(to)
    except FileNotFoundError:
        # Another process has moved it, and may have replaced it by now.
        if not to.parent.exists():
            raise
    except OSError:
        if folder.exists() and not to.exists():
            raise


def _sweep(folder: Path) -> None:
    """Delete temporary folders that killed builds of this folder have left behind."""
    for left in folder.parent.glob(f"{folder.name}.*.tmp"):
        try:
            newest = max(path.stat().st_mtime for path in [left, *left.rglob("*")])
        except FileNotFoundError:
            continue  # that build has just finished
        if time.time() - newest > STALE_AFTER:
            shutil.rmtree(left, ignore_errors=True)
