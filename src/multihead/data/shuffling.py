"""Random permutations as functions of (seed, keys): in memory, or on disk block by block."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from multihead.errors import UserError
from multihead.system import randomness

Indices = NDArray[np.int64]

BLOCK = 1 << 17
"""Elements in memory at once."""

_ENTRY = np.dtype([("draw", "<u8"), ("index", "<i8")])


def shuffle_indices(count: int, seed: int, *keys: int | str) -> Indices:
    """Return a random permutation of 0 ... count - 1, a function of (seed, keys).

    NumPy keeps only the raw output of a bit generator stable between versions (NEP 19).
    """
    draws = np.random.PCG64(randomness.derive(seed, *keys)).random_raw(count)
    return np.argsort(draws, kind="stable").astype(np.int64, copy=False)


def shuffled_blocks(
    count: int, seed: int, *keys: int | str, size: int = BLOCK, folder: Path | None = None
) -> Iterator[Indices]:
    """Yield :func:`shuffle_indices` in blocks of ``size``, holding a few blocks in memory.

    Draws are divided by their leading bits into buckets on disk, each small enough to be sorted in memory.

    Args:
        count, seed, keys: see :func:`shuffle_indices`.
        size: elements in every block but the last.
        folder: folder of the temporary file, 16 bytes per element; None: the system's.

    Raises:
        UserError: the disk is full.
    """
    if count <= size:
        yield shuffle_indices(count, seed, *keys)
        return
    bits = (count // size).bit_length()
    shift, buckets = np.uint64(64 - bits), 1 << bits

    def drawn() -> Iterator[tuple[int, NDArray[np.uint64], Indices]]:
        """Yield blocks of draws: number of the first one, draws, their buckets."""
        generator = np.random.PCG64(randomness.derive(seed, *keys))
        for start in range(0, count, size):
            draws = generator.random_raw(min(size, count - start))
            yield start, draws, (draws >> shift).astype(np.int64)

    sizes = np.zeros(buckets, dtype=np.int64)
    for _, _, numbers in drawn():
        sizes += np.bincount(numbers, minlength=buckets)
    ends = np.cumsum(sizes)
    begins = ends - sizes
    with scratch(folder, count * _ENTRY.itemsize) as file:
        entries = map_file(file, _ENTRY, count)
        free = begins.copy()
        for start, draws, numbers in drawn():
            order = np.argsort(numbers, kind="stable")
            numbers = numbers[order]
            places = free[numbers] + np.arange(len(numbers)) - np.searchsorted(numbers, numbers)
            entries["draw"][places], entries["index"][places] = draws[order], start + order
            free += np.bincount(numbers, minlength=buckets)
        rest = np.empty(0, dtype=np.int64)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            bucket = np.array(entries[begin:end])
            rest = np.concatenate([rest, bucket["index"][np.argsort(bucket["draw"], kind="stable")]])
            while len(rest) >= size:
                yield rest[:size]
                rest = rest[size:]
        if len(rest):
            yield rest


@contextmanager
def scratch(folder: Path | None, size: int = 0) -> Iterator[IO[bytes]]:
    """Open a temporary file, which has no name and vanishes with the block.

    Args:
        folder: the file's folder; the system's if it is None or not writable.
        size: bytes to reserve, so that a full disk is an error here and not later.

    Raises:
        UserError: the disk is full.
    """
    writable = folder is not None and os.access(folder, os.W_OK)
    place = folder if writable else Path(tempfile.gettempdir())
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            if size and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            file.truncate(size)
            yield file
    except OSError as error:
        raise UserError(
            f"no room for the order of an epoch ({error.strerror})",
            place=str(place),
            remedy="Free about 40 bytes for each pair there, or name another cache folder (data.cache).",
        ) from error


def map_file(file: IO[bytes], dtype: DTypeLike, count: int) -> NDArray[Any]:
    """Return the content of a file as a memory-mapped array, which outlives the file object."""
    file.flush()
    return np.memmap(file, dtype=dtype, mode="r+", shape=(count,))
