"""Atomic files: there as a whole or not at all, whatever happens while they are written."""

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from multihead.errors import UserError
from multihead.system import disk

PARTIAL = ".partial"
"""Ending of the name of a folder in which a file is being written."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENOENT, errno.EEXIST)


def write_text(path: Path, text: str) -> None:
    """Replace ``path`` by a UTF-8 file with this text; see :func:`write`."""
    write(path, lambda partial: partial.write_bytes(text.encode()))


def write(path: Path, fill: Callable[[Path], object]) -> None:
    """Replace ``path`` by the file that ``fill`` writes at the path it is given, in a folder beside it.

    Written, synced, renamed, and the folder synced: at any moment, also after a power cut, ``path`` is
    the old file or the new one. A folder of its own, because ``fill`` may make temporary files too.

    Raises:
        UserError: the disk is full or the folder cannot be written; the old file is untouched.
    """
    with report_disk_errors(path), beside(path) as folder:
        partial = folder / path.name
        fill(partial)
        partial.chmod(folder.stat().st_mode & 0o666)  # a library may create it stricter than the user's umask
        disk.sync(partial)
        partial.replace(path)
        disk.sync(path.parent)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Give a new folder beside ``path`` to this writer alone; it is removed at the end."""
    outer = Path(tempfile.mkdtemp(prefix=f"{path.name[:50]}.", suffix=PARTIAL, dir=path.parent))
    held = os.open(outer, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(held, fcntl.LOCK_SH)
        inner = outer / "whole"
        inner.mkdir()  # with the rights that the user's umask gives
        yield inner
    finally:
        os.close(held)
        shutil.rmtree(outer, ignore_errors=True)


def remove_temporary_folders(folder: Path) -> None:
    """Remove the temporary folders that killed writers left in a folder."""
    for left in folder.glob(f"*{PARTIAL}"):
        if not _in_use(left):
            shutil.rmtree(left, ignore_errors=True)


def _in_use(folder: Path) -> bool:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def check_place(folder: Path) -> None:
    """Raise ``UserError`` if a folder can evidently not be made or written to."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    with report_disk_errors(folder):
        if not there.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{there} is not a folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"no right to write to {there}")


def check_file(path: str | Path) -> None:
    """Raise ``UserError`` if a file can evidently not be written."""
    place = Path(path)
    with report_disk_errors(place):
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not place.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, f"there is no folder {place.parent}")
        if not os.access(place.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"no right to write to {place.parent}")


def make_folder(path: Path) -> None:
    """Make a folder and those above it. Raises ``UserError`` if that is impossible."""
    with report_disk_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        disk.sync(path.parent)


def remove(path: Path) -> None:
    """Remove a file if it exists. Raises ``UserError`` if the disk refuses."""
    with report_disk_errors(path):
        path.unlink(missing_ok=True)


@contextmanager
def report_disk_errors(path: Path) -> Iterator[None]:
    """Turn a disk's refusal inside the block into a ``UserError`` about ``path``."""
    try:
        yield
    except OSError as error:
        remedy = None
        if error.errno in NO_ROOM:
            remedy = "Make room and start the same command again: everything saved before is intact."
        elif error.errno in REFUSED:
            remedy = "Name a folder that you may write to."
        reason = error.strerror or str(error)
        raise UserError(f"cannot be written ({reason})", place=str(path), remedy=remedy) from error
