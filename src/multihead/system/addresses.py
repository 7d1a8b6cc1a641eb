"""Files at addresses of fsspec (``s3://bucket/train.de``, ``https://...``), copied into the cache.

A corpus is read several times, so it is fetched whole, once; a file that has changed at its address is
fetched again by the next process.
"""

import fcntl
import importlib
import os
import re
import shutil
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from multihead.errors import UserError
from multihead.system.disk import cache_root

PREFIX = "copies-"
"""Start of the names of the cache's folders with copies."""

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_VERSION = ("ETag", "etag", "md5", "generation", "mtime", "LastModified", "last_modified", "created", "size")
"""Facts by which object stores, web servers and folders tell one content from the next."""


def is_address(name: str) -> bool:
    """Return True for an address, False for the name of a local file."""
    return _ADDRESS.match(name) is not None


def locate_file(folder: str | Path, name: str) -> Path:
    """Return the path of a file in a folder, or of the copy of one at an address.

    Raises:
        UserError: see :func:`local_copy`.
    """
    return local_copy(name) if is_address(name) else Path(folder) / name


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
        name = PREFIX + blake2b("\n".join(version).encode(), digest_size=16).hexdigest()
        folder = cache_root("") / name
        copy = folder / (PurePosixPath(path).name or "file")
        if not copy.is_file():
            _fetch(system, path, copy)
    except FileNotFoundError as error:
        raise UserError("no such file", place=address, remedy="Check the address.") from error
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(
            f"cannot be read ({error_message(error)})",
            place=address,
            remedy="Check the address and its rights.",
        ) from error
    _hold(folder)
    return copy


def _fetch(system: Any, path: str, copy: Path) -> None:
    partial = copy.parent.with_name(f"{copy.parent.name}.{os.getpid()}.tmp")
    partial.mkdir(parents=True)
    try:
        system.get_file(path, str(partial / copy.name))
        with suppress(OSError):  # another process was faster
            partial.rename(copy.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


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
