"""The SHA-256 of a safetensors file, kept inside its own header.

A checkpoint is replaced under its old name by one rename; a digest in a second file would be wrong between
two renames. So the header holds ``sha256:`` and 64 digits, and the file carries its proof wherever it is
copied.

The digest covers every byte: it is the SHA-256 of the header, with zeros for these digits, followed by the
SHA-256 of each ``PART`` of the rest. In parts, because all cores then work on it: one alone would take as
long as loading the model does.
"""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from multihead.system.cores import usable_cores

OPEN = "sha256:" + "0" * 64
"""A seal before its digits are known."""
PART = 8 << 20
CHUNK = 1 << 18
"""Bytes read at once; they stay in the processor's cache until they are hashed."""


def close(path: Path) -> None:
    """Write the digits into a file whose header holds ``OPEN``.

    Raises:
        ValueError: the header does not hold it exactly once.
    """
    with path.open("r+b") as file, hashing(file, OPEN) as digest:
        place = _place(_header(file), OPEN)
        closed = digest()
        file.seek(place)
        file.write(closed.encode())


@contextmanager
def hashing(file: BinaryIO, seal: str) -> Iterator[Callable[[], str]]:
    """Hash a file on other threads while the block runs; give the function that waits for its seal.

    It is read in chunks, so it takes no memory. The file is open, so that another that takes its name
    meanwhile is not hashed in its place.

    Args:
        file: one whose header length is plausible: safetensors has opened it, or written it.
        seal: the one in its header.

    Raises:
        ValueError: the header does not hold ``seal`` exactly once.
        OSError: by the function: the file cannot be read.
    """
    header = _header(file)
    place, size = _place(header, seal), os.fstat(file.fileno()).st_size
    pool = ThreadPoolExecutor(usable_cores(), thread_name_prefix="seal")
    try:
        parts = [pool.submit(_part, file.fileno(), start) for start in range(len(header), size, PART)]

        def digest() -> str:
            digest_of_file = sha256(header[:place] + OPEN.encode() + header[place + len(OPEN) :])
            for part in parts:
                digest_of_file.update(part.result())
            return f"sha256:{digest_of_file.hexdigest()}"

        yield digest
    finally:
        pool.shutdown(cancel_futures=True)


class Checked:
    """Files that this process has found whole and that have not changed since: they need not be hashed again.

    "Not changed" means the same device, inode, size and times. A file that was written within ``SETTLED``
    before it was hashed is not remembered, for another write could leave its times as they are.
    """

    SETTLED = 2_000_000_000
    """Nanoseconds: the coarsest time stamps of a file system in use (FAT)."""

    def __init__(self) -> None:
        self._seals: dict[tuple[int, ...], str] = {}

    def holds(self, identity: tuple[int, ...], seal: str) -> bool:
        """Return whether a file was found whole, with this seal."""
        return self._seals.get(identity) == seal

    def add(self, identity: tuple[int, ...], seal: str) -> None:
        """Remember a file that was found whole; ``file_identity`` was taken before it was hashed."""
        if time.time_ns() - max(identity[-2:]) > self.SETTLED:
            self._seals[identity] = seal

    def clear(self) -> None:
        """Forget all: every file is hashed again."""
        self._seals.clear()


CHECKED = Checked()


def file_identity(found: os.stat_result) -> tuple[int, ...]:
    """Return what changes when a file is written to or replaced."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _part(descriptor: int, start: int) -> bytes:
    """Return the digest of ``PART`` bytes of a file from a place on, fewer at its end."""
    checksum, end = sha256(), start + PART
    while chunk := os.pread(descriptor, min(CHUNK, end - start), start):
        checksum.update(chunk)
        start += len(chunk)
    return checksum.digest()


def _header(file: BinaryIO) -> bytes:
    file.seek(0)
    length = file.read(8)
    return length + file.read(int.from_bytes(length, "little"))


def _place(header: bytes, seal: str) -> int:
    if len(seal) != len(OPEN) or header.count(seal.encode()) != 1:
        raise ValueError("its seal is damaged")
    return header.index(seal.encode())
