"""The cache of prepared data: what is in it, and what of it may go."""

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from multihead.data.folders import ABANDONED_AFTER

ENTRY = re.compile(r"(?:(pictures|captions)-)?[0-9a-f]{32}(\..*\.tmp)?")
"""Names of our folders: prepared data, and what a builder that was killed has left. Others are not ours."""


@dataclass(frozen=True)
class Entry:
    """Prepared data, or the remains of an attempt.

    Attributes:
        folder: where it is.
        kind: "texts", "pictures", "captions" or "unfinished".
        size: bytes on the disk.
        used: when it was last used (or written to, if it is unfinished), in seconds since 1970.
        in_use: whether a process works with it, or is still making it.
    """

    folder: Path
    kind: str
    size: int
    used: float
    in_use: bool


def entries(root: Path) -> list[Entry]:
    """Return what is in a cache folder, most recently used first."""
    found = root.iterdir() if root.is_dir() else iter(())
    named = ((path, ENTRY.fullmatch(path.name)) for path in found if path.is_dir())
    listed = (_entry(path, match) for path, match in named if match)
    return sorted((one for one in listed if one), key=lambda one: -one.used)


def clear(root: Path, *, older_than: float = 0.0) -> tuple[list[Entry], list[Entry]]:
    """Remove prepared data; what a process works with stays, however old it is.

    Args:
        root: the cache folder.
        older_than: seconds since the last use, below which data stays.

    Returns:
        What was removed, and what stayed because it is in use.

    Raises:
        OSError: a folder that may not be removed.
    """
    removed, kept = [], []
    for one in entries(root):
        if time.time() - one.used < older_than:
            continue
        if not one.in_use and _remove(one):
            removed.append(one)
        else:
            kept.append(one)
    return removed, kept


def _entry(folder: Path, match: re.Match[str]) -> Entry | None:
    unfinished = match[2] is not None
    try:
        stats = [path.stat() for path in folder.rglob("*")]
        used = folder.stat().st_mtime
    except FileNotFoundError:
        return None  # removed or renamed meanwhile
    if unfinished:
        used = max([used, *(stat.st_mtime for stat in stats)])
        in_use = time.time() - used < ABANDONED_AFTER
    else:
        with _alone(folder) as alone:
            in_use = not alone
    kind = "unfinished" if unfinished else match[1] or "texts"
    return Entry(folder, kind, sum(stat.st_size for stat in stats), used, in_use)


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Whether nobody works with a folder (see ``folders.in_use``); inside the block nobody begins to."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        alone = True
    except OSError:  # locked, or a file system without locks, where nothing can be known
        alone = False
    try:
        yield alone
    finally:
        os.close(descriptor)


def _remove(one: Entry) -> bool:
    with _alone(one.folder) as alone:
        if not alone:
            return False
        # Under another name first: half of it is never taken for the whole.
        doomed = one.folder.with_name(f"{one.folder.name.partition('.')[0]}.removed.tmp")
        shutil.rmtree(doomed, ignore_errors=True)
        one.folder.rename(doomed)
    shutil.rmtree(doomed)
    return True
