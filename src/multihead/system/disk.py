"""Durable writes, and safe reads of whole files."""

import errno
import os
import stat
import zlib
from hashlib import file_digest
from pathlib import Path

MAX_BYTES = 1 << 24
"""Size limit of a file that is read whole. Recipes, model descriptions and the like are far smaller."""


CHUNK = 1 << 20


def cache_root(named: str) -> Path:
    """Return the named cache folder, else ``multihead`` in the user's cache folder."""
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "multihead"


def content(path: Path, most: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file.

    A run folder may come from an untrusted source: an endless device, or a pipe without a writer, is refused.

    Raises:
        OSError: it cannot be read, is not a regular file, or has more than ``most`` bytes.
    """
    if regular_size(path) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return path.read_bytes()


def regular_size(path: Path) -> int:
    """Return the size of a regular file in bytes. Raises ``OSError``: it is missing, a folder or a device."""
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return status.st_size


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, 64 hexadecimal digits; the file is read in chunks.

    Raises:
        OSError: it cannot be read, or is not a regular file.
    """
    regular_size(path)
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def crc32(path: Path) -> int:
    """Return the CRC-32 of a file, read in chunks. Raises ``OSError`` as ``sha256`` does."""
    regular_size(path)
    checksum = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            checksum = zlib.crc32(chunk, checksum)
    return checksum


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's entries, are on disk (fsync)."""
    if path.is_dir() and os.name != "posix":
        return  # only POSIX can open a folder
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
