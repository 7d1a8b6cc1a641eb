"""What is written is there after a power cut; what is read whole is a file that fits into memory."""

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 1 << 30
"""Of a file that is read whole: recipes, vocabularies, descriptions of models are far smaller."""


def content(path: Path) -> bytes:
    """Return what a file holds.

    A run folder may come from anybody: a device without an end, or a pipe that nobody writes to, is refused.

    Raises:
        OSError: it cannot be read, is no ordinary file, or has more than ``MOST_BYTES``.
    """
    if ordinary_size(path) > MOST_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return path.read_bytes()


def ordinary_size(path: Path) -> int:
    """Return how many bytes a file has. Raises ``OSError`` where it is missing, a folder or a device."""
    told = path.stat()
    if stat.S_ISDIR(told.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(told.st_mode):
        raise OSError(errno.EINVAL, "not an ordinary file", str(path))
    return told.st_size


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    if path.is_dir() and os.name != "posix":
        return  # such systems cannot open a folder
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
