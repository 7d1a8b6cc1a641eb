"""Files at addresses of fsspec (``s3://bucket/train.de``, ``https://...``) and in archives
(``corpus.zip/train.de``), copied into the cache.

A corpus is read several times, so it is fetched whole, once; a file that has changed at its address is
fetched again by the next process.
"""

import fcntl
import importlib
import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from multihead.errors import UserError
from multihead.system import archives
from multihead.system.disk import cache_root

PREFIX = "copies-"
"""Start of the names of the cache's folders with copies."""

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_VERSION = (
    *("ETag", "etag", "md5", "blob_id", "generation", "mtime", "LastModified", "last_modified", "created"),
    "size",
)
"""Facts by which object stores, web servers and folders tell one content from the next."""


def is_address(name: str) -> bool:
    """Return True for an address, False for the name of a local file."""
    return _ADDRESS.match(name) is not None


def is_copied(folder: str | Path, name: str) -> bool:
    """Return True for a file that is read from a copy: one at an address, or a member of an archive."""
    parts = archives.split_member(str(Path(folder) / name))
    return is_address(name) or (parts is not None and Path(parts[0]).is_file())


def locate_file(folder: str | Path, name: str) -> Path:
    """Return the path of a file in a folder, or of the copy of one at an address or in an archive.

    Raises:
        UserError: see :func:`local_copy` and ``archives.extract``.
    """
    path = name if is_address(name) else str(Path(folder) / name)
    if parts := archives.split_member(path):
        archive = local_copy(parts[0]) if is_address(name) else Path(parts[0])
        if archive.is_file():
            return _extract(archive, parts[1])
    return local_copy(name) if is_address(name) else Path(path)


@cache
def _extract(archive: Path, member: str) -> Path:
    """Return the path of a copy of an archive's member; in one process always the same."""
    status = archive.stat()
    version = [str(archive.absolute()), str(status.st_size), str(status.st_mtime_ns), member]
    return _cache(version, member, lambda copy: archives.extract(archive, member, copy))


def absolute(name: str) -> str:
    """Return the full path of a local file; an address as it is."""
    return name if is_address(name) else str(Path(name).absolute())


@cache
def local_copy(address: str) -> Path:
    """Return the path of a copy of a file at an address; in one process always the same.

    Raises:
        UserError: fsspec, or its package for this kind of address, is not installed; there is no such file,
            or it cannot be read.
    """
    system, path = open_address(address)
    try:
        facts = system.info(path)
        if facts.get("type") == "directory":
            raise UserError("is a folder", place=address, remedy="Name a file in it.")
        version = [address, *(f"{key} {facts[key]}" for key in _VERSION if facts.get(key) is not None)]
        return _cache(version, path, lambda copy: system.get_file(path, str(copy)))
    except UserError:
        raise
    except Exception as error:  # each kind of store has errors of its own
        raise _unreadable(address, error) from error


@cache
def list_folder(address: str) -> list[str] | None:
    """Return the paths, relative to a folder at an address, of the files below it; None for a file.

    Raises:
        UserError: see :func:`local_copy`.
    """
    system, path = open_address(address)
    try:
        if not system.isdir(path):
            return None
        root = path.strip("/") + "/"
        return sorted(name.removeprefix("/").removeprefix(root) for name in system.find(path))
    except Exception as error:
        raise _unreadable(address, error) from error


def _unreadable(address: str, error: Exception) -> UserError:
    if isinstance(error, FileNotFoundError):
        hub = re.match(r"hf://(?!(?:datasets|spaces|buckets)/)", address)
        name = f": a dataset of the Hugging Face hub is hf://datasets/{address[hub.end() :]}" if hub else ""
        return UserError("no such file", place=address, remedy=f"Check the address{name}.")
    remedy = "Check the address and its rights, and the network."
    return UserError(f"cannot be read ({error_message(error)})", place=address, remedy=remedy)


def _cache(version: Sequence[str], name: str, write: Callable[[Path], object]) -> Path:
    """Return the path in the cache of a version of a file, written there if it is missing."""
    digest = blake2b("\n".join(version).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    folder = cache_root("") / (PREFIX + digest)
    copy = folder / (PurePosixPath(name).name[-60:] or "file")
    if not copy.is_file():
        partial = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
        partial.mkdir(parents=True)
        try:
            write(partial / copy.name)
            with suppress(OSError):  # another process was faster
                partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    _hold(folder)
    return copy


def _hold(folder: Path) -> None:
    """Lock a folder of the cache until this process ends: ``multihead data cache --clear`` keeps it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    os.utime(folder)


def open_address(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path there.

    Raises:
        UserError: fsspec, or its package for this kind of address, is not installed; not an address.
    """
    try:
        fsspec: ModuleType = importlib.import_module("fsspec")
        system, path = fsspec.url_to_fs(address)
    except ImportError as error:
        remedy = "pip install fsspec, and s3fs for s3://, gcsfs for gs://, aiohttp for https://, ..."
        raise UserError(f"not installed: {error_message(error)}", place=address, remedy=remedy) from error
    except (ValueError, OSError) as error:
        raise UserError(
            f"not an address ({error_message(error)})", place=address, remedy="Such as s3://BUCKET/NAME."
        ) from error
    return system, path


def error_message(error: Exception) -> str:
    """Return the first line of an error of a file system."""
    return (str(error) or type(error).__name__).splitlines()[0][:200]
