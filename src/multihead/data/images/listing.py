"""Labelled images from a folder of class folders, a CSV file, or IDX files."""

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multihead.data.catalogue import remedy_for_missing
from multihead.data.images.idx import is_idx, read_idx
from multihead.data.images.opening import find_images, open_image
from multihead.errors import UserError
from multihead.text.delimited import read_table
from multihead.text.tables import rows as rows_below

LOG = logging.getLogger(__name__)
FILE, LABEL = "file", "label"
"""Column names of a CSV file."""
SPLITS = frozenset(("train", "training", "valid", "val", "validation", "dev", "test", "testing"))
"""Names of folders that hold the class folders of a part of the data."""


class Listing(Protocol):
    """Labelled images in a fixed order.

    Attributes:
        labels: the class of each image.
        numbered: True if labels are class numbers, as in IDX files.
    """

    labels: Sequence[str]
    numbered: bool

    def image(self, index: int) -> Image.Image:
        """Return an image unchanged. Raises ``UserError`` if it cannot be read."""
        ...

    def place(self, index: int) -> str:
        """Return the place of an image (file and line), for error messages."""
        ...

    def digest(self) -> str:
        """Return a hash of all labels and images."""
        ...


class ArrayListing:
    """Greyscale images in memory, (N, height, width)."""

    def __init__(
        self, pixels: NDArray[np.uint8], labels: Sequence[str], name: str, *, numbered: bool
    ) -> None:
        self.pixels, self.labels, self.name, self.numbered = pixels, labels, name, numbered

    def image(self, index: int) -> Image.Image:
        """See ``Listing``."""
        return Image.fromarray(self.pixels[index])

    def place(self, index: int) -> str:
        """See ``Listing``."""
        return f"{self.name}, image {index + 1}"

    def digest(self) -> str:
        """See ``Listing``."""
        hasher = hashlib.sha256(repr((self.pixels.shape, list(self.labels))).encode())
        hasher.update(np.ascontiguousarray(self.pixels).data)
        return hasher.hexdigest()


class FileListing:
    """Images in files.

    Args:
        paths: the image files.
        labels: the class of each.
        places: the place of each, for error messages.
    """

    numbered = False

    def __init__(self, paths: Sequence[Path], labels: Sequence[str], places: Sequence[str]) -> None:
        self.paths, self.labels, self.places = paths, labels, places

    def image(self, index: int) -> Image.Image:
        """See ``Listing``."""
        return open_image(self.paths[index], self.places[index])

    def place(self, index: int) -> str:
        """See ``Listing``."""
        return self.places[index]

    def digest(self) -> str:
        """See ``Listing``."""
        hasher = hashlib.sha256(repr(list(self.labels)).encode())
        for path in self.paths:
            with path.open("rb") as file:
                hasher.update(hashlib.file_digest(file, "sha256").digest())
        return hasher.hexdigest()


def list_images(names: Sequence[str], folder: Path, key: str) -> Listing:
    """Return the images that a setting names.

    Args:
        names: a folder of class folders, a CSV file, or two IDX files (images, labels).
        folder: base folder of the names.
        key: the setting, for error messages.

    Raises:
        UserError: a file or folder is missing, empty or damaged, or images and labels do not match.
    """
    paths = [folder / name for name in names]
    for path in paths:
        if not path.exists():
            raise UserError("no such file or folder", place=str(path), remedy=remedy_for_missing(path))
    if len(paths) == 2:
        return _from_idx(*paths)
    if len(paths) != 1:
        remedy = "Name a folder, a CSV file, or two IDX files: images and labels."
        raise UserError(f"{len(paths)} files are named", place=key, remedy=remedy)
    if paths[0].is_dir():
        return _from_folder(paths[0], key)
    if is_idx(paths[0]):
        remedy = f'Name both files: {key} = ["images", "labels"].'
        raise UserError("an IDX file of images needs one of labels", place=str(paths[0]), remedy=remedy)
    return _from_csv(paths[0])


def _from_idx(images: Path, labels: Path) -> ArrayListing:
    pixels, numbers = read_idx(images), read_idx(labels)
    if pixels.ndim != 3:
        fact = f"{pixels.ndim} dimensions, but images need 3 (count, height, width)"
        raise UserError(fact, place=str(images), remedy="Name the images first, then the labels.")
    if numbers.ndim != 1 or len(numbers) != len(pixels):
        fact = f"{numbers.size:,} labels for the {len(pixels):,} images of {images.name}"
        raise UserError(fact, place=str(labels), remedy="Name two files of the same data set.")
    if not len(pixels) or 0 in pixels.shape:
        raise UserError("no images in this file", place=str(images))
    return ArrayListing(pixels, [str(number) for number in numbers.tolist()], str(images), numbered=True)


def _from_folder(folder: Path, key: str) -> FileListing:
    images, note = find_images(folder)
    paths = [path for path in images if path.parent != folder]
    labels = [path.relative_to(folder).parts[0] for path in paths]
    if not paths:
        remedy = "Put the images of each class into a subfolder with its name, as PNG or JPEG."
        fact = "no images in the subfolders" + (f"; {note}" if note else "")
        raise UserError(fact, place=str(folder), remedy=remedy)
    if len(SPLITS & set(labels)) > 1 and SPLITS.issuperset(labels):
        fact = f"its subfolders are splits, not classes ({', '.join(sorted(set(labels)))})"
        remedy = f"Name one of them as {key}" + (", another as data.valid." if key == "data.train" else ".")
        raise UserError(fact, place=str(folder), remedy=remedy)
    empty = sorted({path.name for path in folder.glob("[!.]*") if path.is_dir()} - set(labels))
    notes = [
        note,
        f"{loose:,} images outside the class folders left out" if (loose := len(images) - len(paths)) else "",
        f"folders without images left out ({', '.join(empty)})" if empty else "",
    ]
    for text in filter(None, notes):
        LOG.warning("%s: %s", folder, text)
    return FileListing(paths, labels, [str(path) for path in paths])


def _from_csv(path: Path) -> FileListing:
    rows = read_image_table(path, LABEL)
    for place, name, _ in rows:
        if not (path.parent / name).is_file():
            remedy = "Give its path relative to the folder of the list."
            raise UserError(f'no image "{name}"', place=place, remedy=remedy)
    files = [path.parent / name for _, name, _ in rows]
    return FileListing(files, [label for *_, label in rows], [f"{place} ({name})" for place, name, _ in rows])


def read_image_table(path: Path, column: str) -> list[tuple[str, str, str]]:
    """Return the place, the file name and the value in a column of each image that a CSV or TSV file lists.

    Raises:
        UserError: the file cannot be read, lacks a column or a value, or lists no image.
    """
    table = read_table(str(path))
    header = [name.strip().lower() for name in next(table)[1]]
    if FILE not in header or column not in header:
        fact = f'no columns "{FILE}" and "{column}" in the header ({", ".join(header) or "empty"})'
        remedy = f'Name the columns in the first line: "{FILE},{column}".'
        raise UserError(fact, place=f"{path}:1", remedy=remedy)
    rows = []
    for place, row in rows_below(table, path, header):
        value = row[header.index(column)].strip()
        if not value:
            raise UserError(f"an image without a {column}", place=place)
        rows.append((place, row[header.index(FILE)], value))
    if not rows:
        raise UserError("no image is listed", place=str(path))
    return rows
