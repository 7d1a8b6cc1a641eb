"""Encoded sentence pairs on disk, memory-mapped: ten million pairs cost no memory, and open at once.

A store is a folder. For each side there are the ids of all sentences one after the other, where each
sentence begins, and how long it is; ``header.json`` says what the files must look like, so that a
truncated or foreign folder is noticed when it is opened.
"""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from multihead.data.plan import Lengths

FORMAT = "multihead token store"
VERSION = 1
HEADER = "header.json"

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")


class BrokenStoreError(ValueError):
    """A folder is not a store, or not a whole one. Whoever can build it again does so."""


class StoreWriter:
    """Write pairs to a store, one after the other, holding none of them in memory.

    >>> with StoreWriter(folder, vocab_sizes=(8000, 8000)) as writer: writer.add([5, 6], [7])

    The folder becomes a store when the block ends without an exception: the header is written last.
    """

    def __init__(self, folder: Path, vocab_sizes: tuple[int, int]) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._files = ExitStack()
        self._sides = [
            _SideWriter(folder, side, vocab_size, self._files)
            for side, vocab_size in zip(SIDES, vocab_sizes, strict=True)
        ]

    def add(self, source: Sequence[int], target: Sequence[int]) -> None:
        """Append a pair of ids, without special symbols."""
        for writer, ids in zip(self._sides, (source, target), strict=True):
            writer.add(ids)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()
        if kind is None:
            header = {
                "format": FORMAT,
                "version": VERSION,
                "pairs": self._sides[0].count,
                "dtypes": [writer.dtype.str for writer in self._sides],
                "sizes": {path.name: path.stat().st_size for path in sorted(self._folder.glob("*.bin"))},
            }
            (self._folder / HEADER).write_text(json.dumps(header, indent=2) + "\n", encoding="utf-8")


class _SideWriter:
    """One side's three files."""

    def __init__(self, folder: Path, side: Side, vocab_size: int, files: ExitStack) -> None:
        self.count = 0
        self.dtype = np.dtype("<u2" if vocab_size <= 1 << 16 else "<u4")
        self._end = 0
        self._ids, self._offsets, self._lengths = (
            files.enter_context(_file(folder, side, what).open("wb", buffering=1 << 18))
            for what in ("ids", "offsets", "lengths")
        )
        self._offsets.write(bytes(8))

    def add(self, ids: Sequence[int]) -> None:
        self._ids.write(np.asarray(ids, self.dtype).tobytes())  # refuses ids that do not fit
        self._end += len(ids)
        self._offsets.write(self._end.to_bytes(8, "little"))
        self._lengths.write(len(ids).to_bytes(4, "little"))
        self.count += 1


class TokenStore:
    """Sentence pairs as ids, without special symbols, in a folder that a ``StoreWriter`` has written.

    Attributes:
        source_lengths: pieces of each source, (N,), memory-mapped.
        target_lengths: pieces of each target, (N,), memory-mapped.

    Raises:
        BrokenStoreError: the folder is missing, truncated, foreign, or of another version.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._count, dtypes = _read_header(folder)
            source, target = (
                _SideReader(folder, side, self._count, dtype)
                for side, dtype in zip(SIDES, dtypes, strict=True)
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise BrokenStoreError(f"{folder}: {error}") from error
        self.folder = folder
        self.source, self.source_lengths = source.sentence, source.lengths
        self.target, self.target_lengths = target.sentence, target.lengths

    def __len__(self) -> int:
        return self._count


class _SideReader:
    """One side's three files, memory-mapped."""

    def __init__(self, folder: Path, side: Side, count: int, dtype: str) -> None:
        self.lengths: Lengths = mapped(_file(folder, side, "lengths"), "<i4")
        self._offsets: NDArray[np.int64] = mapped(_file(folder, side, "offsets"), "<i8")
        self._ids: NDArray[np.integer] = mapped(_file(folder, side, "ids"), dtype)
        ends = int(self._offsets[-1]) if len(self._offsets) else -1
        if (len(self.lengths), len(self._offsets), len(self._ids)) != (count, count + 1, ends):
            raise ValueError(f"{side} does not hold {count} sentences")

    def sentence(self, index: int) -> NDArray[np.integer]:
        """Return the ids of a sentence; do not write into them."""
        return self._ids[self._offsets[index] : self._offsets[index + 1]]


def _file(folder: Path, side: Side, what: str) -> Path:
    return folder / f"{side}.{what}.bin"


def mapped(path: Path, dtype: DTypeLike) -> NDArray[Any]:
    """Return a file's numbers as a plain array over a memory map (an empty file cannot be mapped).

    Raises:
        ValueError: another format than whole numbers; objects would be addresses that anybody wrote.
    """
    if not isinstance(dtype, str) or np.dtype(dtype).kind not in "iu":
        raise ValueError(f"numbers of the format {dtype!r}")
    if path.stat().st_size == 0:
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, mode="r"))


def _read_header(folder: Path) -> tuple[int, list[str]]:
    """Return how many pairs there are, and the number format of each side's ids."""
    header = json.loads((folder / HEADER).read_text(encoding="utf-8"))
    if (header["format"], header["version"]) != (FORMAT, VERSION):
        raise ValueError(f"format {header['format']!r}, version {header['version']}")
    sizes = {path.name: path.stat().st_size for path in folder.glob("*.bin")}
    if header["sizes"] != sizes:
        raise ValueError(f"file sizes are {sizes}, not {header['sizes']}")
    return header["pairs"], header["dtypes"]
