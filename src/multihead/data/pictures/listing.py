"""Which pictures there are, and of which class: from a folder of folders, a CSV file, or idx files."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multihead.data.catalogue import remedy_for_missing
from multihead.data.pictures.idx import is_idx, read_idx
from multihead.data.pictures.opening import SUFFIXES, open_picture
from multihead.data.pictures.table import cells
from multihead.errors import UserError
from multihead.text.lines import file_kind, read_lines

FILE, LABEL = "file", "label"
"""Columns of a CSV file."""


class Listing(Protocol):
    """Pictures with the names of their classes, in a fixed order.

    Attributes:
        labels: a class's name for each picture.
        numbered: whether the names are the numbers of classes, as in idx files.
    """

    labels: Sequence[str]
    numbered: bool

    def picture(self, index: int) -> Image.Image:
        """Return a picture, as it is in its file. Raises ``UserError`` where it cannot be read."""
        ...

    def place(self, index: int) -> str:
        """Return where a picture is listed, for an error message."""
        ...

    def digest(self) -> str:
        """Return a hash of all labels and of the pictures' bytes."""
        ...


class ArrayListing:
    """Pictures in memory, (N, height, width), all of one size, grey."""

    def __init__(
        self, pixels: NDArray[np.uint8], labels: Sequence[str], name: str, *, numbered: bool
    ) -> None:
        self.pixels, self.labels, self.name, self.numbered = pixels, labels, name, numbered

    def picture(self, index: int) -> Image.Image:
        """See ``Listing``."""
        return Image.fromarray(self.pixels[index])

    def place(self, index: int) -> str:
        """See ``Listing``."""
        return f"{self.name}, picture {index + 1}"

    def digest(self) -> str:
        """See ``Listing``."""
        found = hashlib.sha256(repr((self.pixels.shape, list(self.labels))).encode())
        found.update(np.ascontiguousarray(self.pixels).data)
        return found.hexdigest()


class FileListing:
    """Pictures in files.

    Args:
        paths: their files.
        labels: a class's name for each.
        places: where each is listed.
    """

    numbered = False

    def __init__(self, paths: Sequence[Path], labels: Sequence[str], places: Sequence[str]) -> None:
        self.paths, self.labels, self.places = paths, labels, places

    def picture(self, index: int) -> Image.Image:
        """See ``Listing``."""
        return open_picture(self.paths[index], self.places[index])

    def place(self, index: int) -> str:
        """See ``Listing``."""
        return self.places[index]

    def digest(self) -> str:
        """See ``Listing``."""
        found = hashlib.sha256(repr(list(self.labels)).encode())
        for path in self.paths:
            with path.open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
        return found.hexdigest()


def listed(names: Sequence[str], folder: Path, key: str) -> Listing:
    """Return the pictures that a setting names.

    Args:
        names: a folder of class folders, a CSV file, or two idx files (pictures, labels).
        folder: what the names are relative to.
        key: the setting, for error messages.

    Raises:
        UserError: something is missing, empty or damaged; pictures and labels that do not belong together.
    """
    paths = [folder / name for name in names]
    for path in paths:
        if not path.exists():
            raise UserError("no such file or folder", place=str(path), remedy=remedy_for_missing(path))
    if len(paths) == 2:
        return _from_idx(*paths)
    if len(paths) != 1:
        remedy = "Name a folder, a CSV file, or two idx files: pictures and labels."
        raise UserError(f"{len(paths)} files are named", place=key, remedy=remedy)
    if paths[0].is_dir():
        return _from_folder(paths[0])
    if is_idx(paths[0]):
        remedy = f'Name both: {key} = ["pictures", "labels"].'
        raise UserError("an idx file of pictures needs one of labels", place=str(paths[0]), remedy=remedy)
    return _from_csv(paths[0])


def _from_idx(pictures: Path, labels: Path) -> ArrayListing:
    pixels, numbers = read_idx(pictures), read_idx(labels)
    if pixels.ndim != 3:
        fact = f"an idx file with {pixels.ndim} axes, but pictures have 3 (how many, height, width)"
        raise UserError(fact, place=str(pictures), remedy="Name the pictures first, then the labels.")
    if numbers.ndim != 1 or len(numbers) != len(pixels):
        fact = f"{numbers.size:,} labels for the {len(pixels):,} pictures of {pictures.name}"
        raise UserError(fact, place=str(labels), remedy="The two files do not belong together.")
    if not len(pixels) or 0 in pixels.shape:
        raise UserError("no picture in it", place=str(pictures))
    return ArrayListing(pixels, [str(number) for number in numbers.tolist()], str(pictures), numbered=True)


def _from_folder(folder: Path) -> FileListing:
    classes = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    pairs = [
        (path, each.name)
        for each in classes
        for path in sorted(each.rglob("*"))
        if path.suffix.lower() in SUFFIXES and path.is_file()
    ]
    if not pairs:
        remedy = "It holds a folder for each class, with that class's pictures in it."
        raise UserError("no picture in this folder's folders", place=str(folder), remedy=remedy)
    paths = [path for path, _ in pairs]
    return FileListing(paths, [name for _, name in pairs], [str(path) for path in paths])


def _from_csv(path: Path) -> FileListing:
    delimiter = "\t" if file_kind(str(path)) == ".tsv" else ","
    lines = read_lines(str(path))
    heading = cells(next(lines, ""), delimiter, f"{path}:1")
    columns = [name.strip().lower() for name in heading]
    if FILE not in columns or LABEL not in columns:
        fact = f'no columns "{FILE}" and "{LABEL}" in its first line ({", ".join(heading) or "empty"})'
        raise UserError(
            fact, place=f"{path}:1", remedy=f'Its first line names the columns: "{FILE},{LABEL}".'
        )
    files, labels, places = [], [], []
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        row = cells(line, delimiter, place)
        if len(row) != len(columns):
            raise UserError(f"{len(row)} columns, but the first line has {len(columns)}", place=place)
        name, label = row[columns.index(FILE)], row[columns.index(LABEL)].strip()
        file = path.parent / name
        if not file.is_file():
            remedy = "Names are relative to the folder of the list."
            raise UserError(f'there is no picture "{name}"', place=place, remedy=remedy)
        if not label:
            raise UserError("a picture without a label", place=place)
        files.append(file)
        labels.append(label)
        places.append(f"{place} ({name})")
    if not files:
        raise UserError("no picture is listed", place=str(path))
    return FileListing(files, labels, places)
