"""Memory-mapped store of images of one size: a million images open instantly and take no memory.

A store is a folder of two NumPy files: ``pixels.npy`` (N, channels, size, size) and ``labels.npy`` (N,).
"""

from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multihead.data.images.opening import Form, Pixels
from multihead.data.store import BrokenStoreError

PIXELS, LABELS = "pixels.npy", "labels.npy"


class ImageWriter:
    """Writes images to a store one by one, holding none in memory.

    >>> with ImageWriter(folder, 2, Form(28, 1)) as writer: writer.add(pixels, 3)

    The labels are written last: a folder with labels is a complete store.
    """

    def __init__(self, folder: Path, count: int, form: Form) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._labels = folder, []  # type: tuple[Path, list[int]]
        shape = (count, form.channels, form.size, form.size)
        self._pixels = np.lib.format.open_memmap(folder / PIXELS, "w+", np.uint8, shape)

    def add(self, pixels_Chw: Pixels, label: int) -> None:
        """Append an image and its class."""
        self._pixels[len(self._labels)] = pixels_Chw
        self._labels.append(label)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pixels.flush()
        if kind is None:
            assert len(self._labels) == len(self._pixels)
            np.save(self._folder / LABELS, np.array(self._labels, dtype=np.int64), allow_pickle=False)


class ImageStore:
    """Labelled images in a folder written by ``ImageWriter``.

    Attributes:
        pixels: (N, channels, size, size), memory-mapped.
        labels: (N,).

    Raises:
        BrokenStoreError: the folder is missing, truncated or foreign.
    """

    VERSION = 1

    def __init__(self, folder: Path) -> None:
        try:
            self.pixels: NDArray[np.uint8] = np.load(folder / PIXELS, mmap_mode="r", allow_pickle=False)
            self.labels: NDArray[np.int64] = np.load(folder / LABELS, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise BrokenStoreError(f"{folder}: {error}") from error
        if (
            self.pixels.ndim != 4
            or self.pixels.dtype != np.uint8
            or self.labels.shape != self.pixels.shape[:1]
        ):
            raise BrokenStoreError(f"{folder}: pixels {self.pixels.shape}, labels {self.labels.shape}")

    def __len__(self) -> int:
        return len(self.labels)
