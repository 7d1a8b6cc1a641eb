"""Members of archives (.zip, .tar and its compressed forms), named as ``corpus.zip/train.de``.

A member is extracted into the cache when it is first located, to a path that its name does not decide.
"""

import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from typing import IO

from multihead.errors import UserError
from multihead.system.disk import regular_size

_NAME = re.compile(r"(.*?\.(?:zip|tgz|tbz2?|txz|tar(?:\.(?:gz|bz2|xz))?))(?:/(.+))?", re.IGNORECASE)
_DAMAGE = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError),
    *(EOFError, OSError, RuntimeError, NotImplementedError, ValueError),
)
LEAST_LIMIT = 1 << 30
"""Archives may hold a GiB, however small they are."""
MOST_EXPANSION = 200
"""Larger ones hold at most so many times their size: text is compressed 3 to 30 times."""
MOST_MEMBERS = 100_000


def ends_as_archive(name: str) -> bool:
    """Return whether a file's name is that of an archive."""
    match = _NAME.fullmatch(name)
    return match is not None and match[2] is None


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive, by its name."""
    return ends_as_archive(path.name) and path.is_file()


def split_member(name: str) -> tuple[str, str] | None:
    """Return the archive and the member that a name means, or None.

    >>> split_member("data/de-en.zip/train.de")
    ('data/de-en.zip', 'train.de')
    """
    match = _NAME.fullmatch(name)
    return (match[1], match[2]) if match and match[2] else None


@cache
def members(archive: Path) -> tuple[str, ...]:
    """Return the names of the regular files in an archive, in order.

    Raises:
        UserError: it is damaged or encrypted, expands too much, has too many members, or a member's path
            leads out of it.
    """
    with _user_errors(archive):
        limit = max(LEAST_LIMIT, MOST_EXPANSION * regular_size(archive))
        names, total = dict[str, None](), 0
        for name, size, _ in _entries(archive):
            total += size
            path = PurePosixPath(name.replace("\\", "/"))
            if path.is_absolute() or ".." in path.parts:
                fact = f"a member's path leads out of the archive ({name[:60]!r})"
                raise UserError(fact, place=str(archive), remedy="Do you trust its origin?")
            if total > limit or len(names) >= MOST_MEMBERS:
                fact = f"expands to more than {limit >> 20:,} MiB, or {MOST_MEMBERS:,} files"
                raise UserError(fact, place=str(archive), remedy="Unpack it yourself, and name its files.")
            if name in names:
                fact = f"holds {name[:60]!r} twice"
                raise UserError(fact, place=str(archive), remedy="Unpack it, and name its files.")
            names[name] = None
    return tuple(names)


def extract(archive: Path, member: str, copy: Path) -> None:
    """Write a member of an archive to a file.

    Raises:
        UserError: as ``members``; there is no such member.
    """
    if member not in members(archive):
        remedy = f"Its files: {', '.join(members(archive)[:5])} ..."
        raise UserError("no such file in the archive", place=f"{archive}/{member}", remedy=remedy)
    with _user_errors(archive):
        for name, size, open_member in _entries(archive):
            if name == member:
                with open_member() as content, copy.open("wb") as file:
                    copyfileobj(content, file, 1 << 20)
                if copy.stat().st_size != size:
                    raise EOFError("cut off")
                return


def _entries(archive: Path) -> Iterator[tuple[str, int, Callable[[], IO[bytes]]]]:
    """Yield name, size and opener of each regular file."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                if not info.is_dir():
                    yield info.filename, info.file_size, lambda info=info: zipped.open(info)  # type: ignore[misc]
        return
    with tarfile.open(archive) as tar:
        for entry in tar:
            if entry.isreg():
                yield entry.name, entry.size, lambda entry=entry: tar.extractfile(entry)  # type: ignore[misc]


@contextmanager
def _user_errors(archive: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        message = (str(error) or type(error).__name__).splitlines()[0][:100]
        if "encrypted" in str(error):
            fact, remedy = "encrypted", "Unpack it, and name its files."
        else:
            fact, remedy = f"not an archive that can be read ({message})", "Download it again, or unpack it."
        raise UserError(fact, place=str(archive), remedy=remedy) from error
