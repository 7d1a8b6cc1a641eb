"""64-bit sentence hashes, to find duplicates and contamination in 8 bytes a sentence."""

from array import array
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b, file_digest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multihead.data import checksums

Hashes = NDArray[np.uint64]
TRAINED_ON = "train.source.hashes.npy"


def file_sha256(path: Path | str) -> str:
    """Return the SHA-256 of a file in hexadecimal; cached until the file changes."""
    stat = Path(path).stat()
    return _sha256(str(path), stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@lru_cache(1024)
def _sha256(path: str, *_: int) -> str:
    with Path(path).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def sentence_hash(sentence: str) -> int:
    """Return an unsigned 64-bit hash of a sentence, the same in every process and on every machine."""
    return int.from_bytes(blake2b(sentence.encode(), digest_size=8).digest(), "little")


def of_pairs(sources: Hashes, targets: Hashes) -> Hashes:
    """Return hashes of pairs, (N,), from the hashes of their two sentences."""
    return sources ^ (targets << np.uint64(1) | targets >> np.uint64(63))


def as_hashes(values: "array[int]") -> Hashes:
    """Return an ``array("Q")`` as a NumPy array, without a copy."""
    return np.frombuffer(values, dtype=np.uint64)


def first_occurrences(hashes: Hashes) -> NDArray[np.bool_]:
    """Return True for the first occurrence of each hash, (N,)."""
    first = np.zeros(len(hashes), dtype=np.bool_)
    first[np.unique(hashes, return_index=True)[1]] = True
    return first


def count_in(ordered: Hashes, hashes: Hashes) -> NDArray[np.int64]:
    """Return the count of each of the hashes, (N,), in a sorted array."""
    return np.searchsorted(ordered, hashes, side="right") - np.searchsorted(ordered, hashes, side="left")


def are_in(ordered: Hashes, hashes: Hashes) -> NDArray[np.bool_]:
    """Return True for each of the hashes, (N,), that occurs in a sorted, non-empty array.

    ``np.isin`` would take three times the memory.
    """
    matches: NDArray[np.bool_] = np.take(ordered, np.searchsorted(ordered, hashes), mode="clip") == hashes
    return matches


def save_training_sources(folder: Path, hashes: Hashes) -> None:
    """Save the hashes of the training source sentences in a store's folder."""
    np.save(folder / TRAINED_ON, np.unique(hashes), allow_pickle=False)


def contamination(store_folder: Path, sentences: Iterable[str]) -> int:
    """Return the number of source sentences of a test set that occur in the training data.

    Raises:
        ValueError: the hashes are damaged.
        OSError: they cannot be read.
    """
    checksums.check(store_folder, TRAINED_ON)
    trained_on = np.load(store_folder / TRAINED_ON, mmap_mode="r", allow_pickle=False)
    hashes = np.array([sentence_hash(sentence) for sentence in sentences], dtype=np.uint64)
    return int(np.count_nonzero(count_in(trained_on, hashes)))
