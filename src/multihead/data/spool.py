"""Sentence hashes on disk: a corpus of a billion pairs is deduplicated in the memory of a few million.

Hashes are written in the order of the corpus, and read back in chunks. To find duplicates they are divided
into buckets by their leading bits, each small enough to be sorted in memory; equal hashes share a bucket.
"""

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multihead.data.hashes import Hashes, are_in, first_occurrences, of_pairs

CHUNK = 1 << 17
"""Hashes in memory at once: in a chunk, or in an average bucket. Dividing them takes some 70 bytes each."""
MAX_BUCKETS = 256
"""Files open at once."""

_ENTRY = np.dtype([("hash", "<u8"), ("place", "<i8")])


class HashSpool:
    """A sequence of 64-bit hashes in a temporary file.

    Args:
        folder: folder of the file, which has no name and vanishes with this object; it must exist.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by __exit__)
        self._folder, self._buffer, self._written = folder, array("Q"), 0

    def __len__(self) -> int:
        return self._written + len(self._buffer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def append(self, value: int) -> None:
        """Append a hash."""
        self._buffer.append(value)
        if len(self._buffer) >= CHUNK // 16:
            self._flush()

    def extend(self, values: Iterable[int]) -> None:
        """Append hashes."""
        for value in values:
            self.append(value)

    def _flush(self) -> None:
        self._file.seek(8 * self._written)
        self._file.write(self._buffer)
        self._written += len(self._buffer)
        self._buffer = array("Q")

    def chunks(self) -> Iterator[Hashes]:
        """Yield the hashes in order, as arrays of ``CHUNK`` but for the last."""
        self._flush()
        for start in range(0, self._written, CHUNK):
            self._file.seek(8 * start)
            content = self._file.read(8 * min(CHUNK, self._written - start))
            yield np.frombuffer(content, dtype=np.uint64)

    def repeat(self) -> "Bits":
        """Return a mark for each hash that has occurred before."""
        marks = Bits(len(self))
        with ExitStack() as opened:
            for bucket in self._buckets(opened):
                marks.set(np.sort(bucket["place"][~first_occurrences(bucket["hash"])]))
        return marks

    def save_unique(self, path: Path) -> None:
        """Write the sorted, distinct hashes as ``numpy.save`` does."""
        with ExitStack() as opened, tempfile.TemporaryFile(dir=self._folder) as unique:
            count = 0
            for bucket in self._buckets(opened):  # in the order of their leading bits
                distinct = np.unique(bucket["hash"])
                unique.write(distinct.tobytes())
                count += len(distinct)
            header = {"descr": np.dtype(np.uint64).str, "fortran_order": False, "shape": (count,)}
            unique.seek(0)
            with path.open("wb") as file:
                np.lib.format.write_array_header_1_0(file, header)
                while content := unique.read(8 * CHUNK):
                    file.write(content)

    def _buckets(self, opened: ExitStack) -> Iterator[NDArray[np.void]]:
        """Yield all hashes with their places, divided by leading bits; each bucket is ordered by place."""
        bits = min(MAX_BUCKETS.bit_length() - 1, max(0, (len(self) // CHUNK).bit_length()))
        files = [
            opened.enter_context(tempfile.TemporaryFile(dir=self._folder))  # noqa: SIM115
            for _ in range(1 << bits)
        ]
        for number, chunk in enumerate(self.chunks()):
            entries = np.empty(len(chunk), dtype=_ENTRY)
            entries["hash"], entries["place"] = chunk, np.arange(len(chunk)) + number * CHUNK
            prefixes = (chunk >> np.uint64(64 - bits)) if bits else np.zeros(len(chunk), dtype=np.uint64)
            order = np.argsort(prefixes, kind="stable")
            bounds = np.searchsorted(prefixes[order], np.arange(1 << bits, dtype=np.uint64))
            for file, some in zip(files, np.split(order, bounds[1:]), strict=True):
                file.write(entries[some].tobytes())
        for file in files:
            file.seek(0)
            yield np.frombuffer(file.read(), dtype=_ENTRY)
            file.close()


class Bits:
    """A bit for each of N items, in N / 8 bytes."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._bytes = np.zeros(-(-count // 8), dtype=np.uint8)

    def set(self, places: NDArray[np.int64]) -> None:
        """Mark these places."""
        np.bitwise_or.at(self._bytes, places >> 3, (1 << (places & 7)).astype(np.uint8))

    def slice(self, start: int, count: int) -> NDArray[np.bool_]:
        """Return the marks of ``count`` items from ``start`` on."""
        first = start // 8
        some = self._bytes[first : -(-(start + count) // 8)]
        return np.unpackbits(some, bitorder="little")[start - 8 * first :][:count].astype(np.bool_)


class UnmarkedHashes:
    """The hashes of a spool that are not marked."""

    def __init__(self, hashes: HashSpool, dropped: Bits | None) -> None:
        self._hashes, self._dropped = hashes, dropped

    def chunks(self) -> Iterator[Hashes]:
        """Yield the hashes in order, as arrays."""
        start = 0
        for chunk in self._hashes.chunks():
            hashes = chunk if self._dropped is None else chunk[~self._dropped.slice(start, len(chunk))]
            start += len(chunk)
            yield hashes


class PairHashes:
    """Hashes of whole pairs, computed from the hashes of their sides."""

    def __init__(self, sources: "Side", targets: "Side") -> None:
        self._sources, self._targets = sources, targets

    def chunks(self) -> Iterator[Hashes]:
        """Yield the hashes in order, as arrays."""
        for source, target in zip(self._sources.chunks(), self._targets.chunks(), strict=True):
            yield of_pairs(source, target)


Side = UnmarkedHashes | PairHashes


def at_places(side: Side, places: NDArray[np.int64]) -> Hashes:
    """Return the hashes at some places."""
    hashes, start = np.empty(len(places), dtype=np.uint64), 0
    for chunk in side.chunks():
        here = (places >= start) & (places < start + len(chunk))
        hashes[here] = chunk[places[here] - start]
        start += len(chunk)
    return hashes


def counts(side: Side, hashes: Hashes) -> NDArray[np.int64]:
    """Return the count of each of a few hashes."""
    distinct, inverse = np.unique(hashes, return_inverse=True)
    totals = np.zeros(len(distinct), dtype=np.int64)
    for chunk in side.chunks():
        some = chunk[are_in(distinct, chunk)] if len(distinct) else chunk[:0]
        totals += np.bincount(np.searchsorted(distinct, some), minlength=len(distinct))
    return totals[inverse]
