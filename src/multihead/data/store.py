"""Memory-mapped store of encoded sentence pairs: ten million pairs open instantly and take no memory.

A store is a folder. Each side has three files: the concatenated token ids of all sentences, their offsets and
their lengths. ``lines.bin`` has the line of the corpus that each pair comes from. ``header.json`` records
types and sizes, so that a truncated or foreign folder is detected.
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
from multihead.system import disk
from multihead.system.safe_parsing import parse_json

FORMAT = "multihead token store"
VERSION = 1
HEADER = "header.json"
LINES = "lines.bin"
"""Stores of earlier versions lack it."""

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")


class BrokenStoreError(ValueError):
    """The folder is not a store, or an incomplete one; it can be built again."""


class StoreWriter:
    """Writes pairs to a store one by one, holding none in memory.

    >>> with StoreWriter(folder, vocab_sizes=(8000, 8000)) as writer: writer.add([5, 6], [7])

    The folder becomes a store when the block ends without an exception: the header is written last.
    """

    def __init__(self, folder: Path, vocab_sizes: tuple[int, int]) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._files = ExitStack()
        self._lines = self._files.enter_context((folder / LINES).open("wb", buffering=1 << 18))
        self._sides = [
            _SideWriter(folder, side, vocab_size, self._files)
            for side, vocab_size in zip(SIDES, vocab_sizes, strict=True)
        ]

    def add(self, source: Sequence[int], target: Sequence[int], line: int = 0) -> None:
        """Append a pair of token id sequences, without special tokens, and its line in the corpus."""
        self._lines.write(line.to_bytes(8, "little"))
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
        self._ids.write(np.asarray(ids, self.dtype).tobytes())  # raises if an id does not fit
        self._end += len(ids)
        self._offsets.write(self._end.to_bytes(8, "little"))
        self._lengths.write(len(ids).to_bytes(4, "little"))
        self.count += 1


class TokenStore:
    """Sentence pairs as token ids without special tokens, in a folder written by ``StoreWriter``.

    Attributes:
        source_lengths: length of each source in tokens, (N,), memory-mapped.
        target_lengths: length of each target in tokens, (N,), memory-mapped.
        lines: line of the corpus that each pair comes from, from 1, (N,); None if unknown.

    Raises:
        BrokenStoreError: the folder is missing, truncated, foreign, or of another version.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._count, dtypes = _read_header(folder)
            lines = memory_mapped(folder / LINES, "<i8") if (folder / LINES).exists() else None
            source, target = (
                _SideReader(folder, side, self._count, dtype)
                for side, dtype in zip(SIDES, dtypes, strict=True)
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BrokenStoreError(f"{folder}: {error}") from error
        self.folder = folder
        self.lines = lines
        self.source, self.source_lengths = source.sentence, source.lengths
        self.target, self.target_lengths = target.sentence, target.lengths

    def __len__(self) -> int:
        return self._count


class _SideReader:
    def __init__(self, folder: Path, side: Side, count: int, dtype: str) -> None:
        self.lengths: Lengths = memory_mapped(_file(folder, side, "lengths"), "<i4")
        self._offsets: NDArray[np.int64] = memory_mapped(_file(folder, side, "offsets"), "<i8")
        self._ids: NDArray[np.integer] = memory_mapped(_file(folder, side, "ids"), dtype)
        ends = int(self._offsets[-1]) if len(self._offsets) else -1
        if (len(self.lengths), len(self._offsets), len(self._ids)) != (count, count + 1, ends):
            raise ValueError(f"{side} does not have {count} sentences")

    def sentence(self, index: int) -> NDArray[np.integer]:
        """Return the token ids of a sentence; read only."""
        return self._ids[self._offsets[index] : self._offsets[index + 1]]


def _file(folder: Path, side: Side, what: str) -> Path:
    return folder / f"{side}.{what}.bin"


def memory_mapped(path: Path, dtype: DTypeLike) -> NDArray[Any]:
    """Return the integers of a file as a memory-mapped array (a plain one if the file is empty).

    Raises:
        ValueError: not an integer type; an object type would turn untrusted bytes into pointers.
    """
    if not isinstance(dtype, str) or np.dtype(dtype).kind not in "iu":
        raise ValueError(f"not an integer type: {dtype!r}")
    if path.stat().st_size == 0:
        return np.empty(0, dtype)
    return np.asarray(np.memmap(path, dtype, mode="r"))


def _read_header(folder: Path) -> tuple[int, list[str]]:
    """Return the number of pairs, and the type of each side's ids."""
    header = parse_json(disk.content(folder / HEADER))
    if (header["format"], header["version"]) != (FORMAT, VERSION):
        raise ValueError(f"format {header['format']!r}, version {header['version']}")
    sizes = {path.name: path.stat().st_size for path in folder.glob("*.bin")}
    if header["sizes"] != sizes:
        raise ValueError(f"file sizes are {sizes}, not {header['sizes']}")
    return header["pairs"], header["dtypes"]
