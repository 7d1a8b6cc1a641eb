"""The cache of prepared data: listing and clearing."""

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from multihead.data.folders import STALE_AFTER

ENTRY = re.compile(r"(?:(images|captions|copies)-)?[0-9a-f]{32}(\..*\.tmp)?")
"""Names of cache folders: prepared data, and remains of killed builds. Other folders are never touched."""


@dataclass(frozen=True)
class CacheEntry:
    """A cache folder: prepared data, or the remains of a build.

    Attributes:
        folder: its path.
        kind: "texts", "images", "captions", "copies" (downloaded files) or "unfinished".
        size: bytes on disk.
        used: time of last use (of last write, if unfinished), in seconds since 1970.
        in_use: True while a process reads or builds it.
    """

    folder: Path
    kind: str
    size: int
    used: float
    in_use: bool


def entries(root: Path) -> list[CacheEntry]:
    """Return the entries of a cache folder, most recently used first."""
    paths = root.iterdir() if root.is_dir() else iter(())
    named = ((path, ENTRY.fullmatch(path.name)) for path in paths if path.is_dir())
    listed = (_entry(path, match) for path, match in named if match)
    return sorted((entry for entry in listed if entry), key=lambda entry: -entry.used)


def clear(root: Path, *, older_than: float = 0.0) -> tuple[list[CacheEntry], list[CacheEntry]]:
    """Remove prepared data, except entries in use by a process.

    Args:
        root: the cache folder.
        older_than: minimum number of seconds since the last use.

    Returns:
        The removed entries, and the entries still in use.

    Raises:
        OSError: a folder cannot be removed.
    """
    removed, busy = [], []
    for entry in entries(root):
        if time.time() - entry.used < older_than:
            continue
        if not entry.in_use and _remove(entry):
            removed.append(entry)
        else:
            busy.append(entry)
    return removed, busy


def _entry(folder: Path, match: re.Match[str]) -> CacheEntry | None:
    unfinished = match[2] is not None
    try:
        stats = [path.stat() for path in folder.rglob("*")]
        used = folder.stat().st_mtime
    except FileNotFoundError:
        return None  # removed or renamed in the meantime
    if unfinished:
        used = max([used, *(stat.st_mtime for stat in stats)])
        in_use = time.time() - used < STALE_AFTER
    else:
        with _locked_exclusively(folder) as alone:
            in_use = not alone
    kind = "unfinished" if unfinished else match[1] or "texts"
    return CacheEntry(folder, kind, sum(stat.st_size for stat in stats), used, in_use)


@contextmanager
def _locked_exclusively(folder: Path) -> Iterator[bool]:
    """Try to lock a folder against readers (see ``folders.read_locked``); give True if that succeeded."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        alone = True
    except OSError:  # locked, or a file system without locks
        alone = False
    try:
        yield alone
    finally:
        os.close(descriptor)


def _remove(entry: CacheEntry) -> bool:
    with _locked_exclusively(entry.folder) as alone:
        if not alone:
            return False
        # Renamed first, so that a half-removed folder is never read.
        doomed = entry.folder.with_name(f"{entry.folder.name.partition('.')[0]}.removed.tmp")
        shutil.rmtree(doomed, ignore_errors=True)
        entry.folder.rename(doomed)
    shutil.rmtree(doomed)
    return True
