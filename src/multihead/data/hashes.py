"""Ten million sentences as 64-bit hashes: 80 MB say which of them occur twice, and which were trained on."""

from array import array
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b, file_digest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
TRAINED_ON = "train.source.hashes.npy"


def file_sha256(path: Path | str) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal digits; of a file that has not changed, once."""
    told = Path(path).stat()
    return _sha256(str(path), told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns)


@lru_cache(1024)
def _sha256(path: str, *_: int) -> str:
    with Path(path).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def sentence_hash(sentence: str) -> int:
    """Return 64 bits (unsigned) that stand for a sentence, the same in every process and on every machine."""
    return int.from_bytes(blake2b(sentence.encode(), digest_size=8).digest(), "little")


def as_hashes(values: "array[int]") -> Hashes:
    """Return an ``array("Q")`` as a NumPy array, without a copy."""
    return np.frombuffer(values, dtype=np.uint64)


def first_occurrences(hashes: Hashes) -> NDArray[np.bool_]:
    """Return which of the hashes (N,) did not occur further left."""
    first = np.zeros(len(hashes), dtype=np.bool_)
    first[np.unique(hashes, return_index=True)[1]] = True
    return first


def count_in(known: Hashes, hashes: Hashes) -> NDArray[np.int64]:
    """Return how often each of the hashes (N,) occurs in ``known``, which is sorted."""
    return np.searchsorted(known, hashes, side="right") - np.searchsorted(known, hashes, side="left")


def are_in(known: Hashes, hashes: Hashes) -> NDArray[np.bool_]:
    """Return which of the hashes (N,) occur in ``known``, which is sorted and not empty.

    ``np.isin`` would take three times the memory.
    """
    found: NDArray[np.bool_] = np.take(known, np.searchsorted(known, hashes), mode="clip") == hashes
    return found


def save_training_sources(folder: Path, hashes: Hashes) -> None:
    """Remember in a store's folder which source sentences it trains on."""
    np.save(folder / TRAINED_ON, np.unique(hashes), allow_pickle=False)


def contamination(store_folder: Path, sentences: Iterable[str]) -> int:
    """Return how many of the source sentences occur among those of the training pairs.

    Args:
        store_folder: ``Prepared.folder``.
        sentences: the source side of a test set, as it is in its file.
    """
    known = np.load(store_folder / TRAINED_ON, mmap_mode="r", allow_pickle=False)
    hashes = np.array([sentence_hash(sentence) for sentence in sentences], dtype=np.uint64)
    return int(np.count_nonzero(count_in(known, hashes)))
