"""Object annotations in COCO's JSON format (Lin et al. 2014), read as untrusted input."""

import hashlib
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multihead.data.catalogue import remedy_for_missing
from multihead.data.images.opening import find_images
from multihead.errors import UserError
from multihead.system import disk
from multihead.system.safe_parsing import parse_json

MAX_BYTES = 1 << 28
MAX_VALUES = 20_000_000
"""COCO's instances_val2017.json has 20 MB and 2 million values."""
LARGEST = sys.float_info.max
LOG = logging.getLogger(__name__)
FORMAT = "https://cocodataset.org/#format-data"


@dataclass(frozen=True)
class Annotated:
    """An image with its objects.

    Attributes:
        file: path of the image.
        width: width in pixels according to the JSON file.
        height: height, likewise.
        boxes_G4: left, top, right and bottom edges in pixels, inside the image.
        classes_G: positions of the classes in ``names``.
        crowd_G: True for a region with many objects, which only evaluation uses.
        areas_G: areas in square pixels.
    """

    file: Path
    width: int
    height: int
    boxes_G4: NDArray[np.float64]
    classes_G: NDArray[np.int64]
    crowd_G: NDArray[np.bool_]
    areas_G: NDArray[np.float64]


@dataclass(frozen=True)
class CocoSet:
    """The annotated images of a JSON file.

    Attributes:
        path: the JSON file.
        names: names of the classes, in the order of their ids or as requested.
        images: the images with their objects, in the order of the file.
    """

    path: Path
    names: tuple[str, ...]
    images: tuple[Annotated, ...]

    def digest(self) -> str:
        """Return a hash of all annotations and image files."""
        sha256 = hashlib.sha256(repr(self.names).encode())
        for image in self.images:
            arrays = (image.boxes_G4, image.classes_G, image.crowd_G)
            sha256.update(repr([array.tolist() for array in arrays]).encode())
            sha256.update(image.file.name.encode())
            stat = image.file.stat() if image.file.exists() else None
            sha256.update(repr((stat.st_size, stat.st_mtime_ns) if stat else None).encode())
        return sha256.hexdigest()


def read_coco(names: Sequence[str], folder: Path, key: str, classes: Sequence[str] = ()) -> CocoSet:
    """Read annotations.

    Args:
        names: a folder with images and one JSON file, or the JSON file and the folder of its images.
        folder: base folder of the names.
        key: setting named in errors.
        classes: names of the classes, in order; default: those of the file, in the order of their ids.

    Raises:
        UserError: a missing file, not COCO's format, a box that lies outside its image, or an object of
            another class.
    """
    path, images = _files(names, folder, key)
    try:
        content = parse_json(disk.content(path, MAX_BYTES), most_bytes=MAX_BYTES, values=MAX_VALUES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"cannot be read as JSON ({reason})", place=str(path), remedy=f"See {FORMAT}."
        ) from None
    reader = _CocoReader(path, images)
    coco = reader.read(content, tuple(classes))
    if reader.cut:
        fact = (
            "boxes cut off at the edge of their image, by more than a pixel (bbox is [x, y, width, height])"
        )
        LOG.warning("%s: %s %s", path, f"{reader.cut:,}", fact)
    if reader.empty:
        LOG.warning("%s: %s boxes left out: their width or height is 0", path, f"{reader.empty:,}")
    if len(names) == 1:  # otherwise the folder may hold the images of other files too
        listed = {image.file for image in coco.images}
        if unlisted := sum(file not in listed for file in find_images(images)[0]):
            LOG.warning(
                "%s: %s images left out: they have no entry in %s", images, f"{unlisted:,}", path.name
            )
    return coco


def _files(names: Sequence[str], folder: Path, key: str) -> tuple[Path, Path]:
    paths = [folder / name for name in names]
    for path in paths:
        if not path.exists():
            raise UserError("no such file or folder", place=str(path), remedy=remedy_for_missing(path))
    if len(paths) == 1 and paths[0].is_dir():
        files = sorted(file for file in paths[0].glob("[!.]*") if file.suffix.lower() == ".json")
        if len(files) != 1:
            remedy = "Name the JSON file and the folder of the images."
            if not files:
                remedy = f"{remedy[:-1]}, or export the annotations in COCO's format: {FORMAT}."
            raise UserError(f"{len(files)} JSON files in this folder", place=str(paths[0]), remedy=remedy)
        return files[0], paths[0]
    if len(paths) == 2 and paths[1].is_dir():
        return paths[0], paths[1]
    fact = f"{' and '.join(map(str, paths)) or 'nothing'} is not a folder in COCO's format"
    remedy = "Name a folder with images and one JSON file, or the JSON file and the folder of its images."
    raise UserError(fact, place=key, remedy=remedy)


class _CocoReader:
    def __init__(self, path: Path, images: Path) -> None:
        self.path, self.images = path, images
        self.cut = self.empty = 0

    def read(self, content: object, names: tuple[str, ...]) -> CocoSet:
        tables = [self._table(content, name) for name in ("images", "annotations", "categories")]
        classes: dict[int, str] = {}
        for number, row in enumerate(tables[2]):
            place = f"categories, entry {number + 1}"
            identity, name = self._int(row, "id", place), self._text(row, "name", place)
            if identity in classes or name in classes.values():
                raise self._error(
                    f'the id {identity} or the name "{name}" is already another category\'s', place
                )
            classes[identity] = name
        names = names or tuple(classes[identity] for identity in sorted(classes))
        headers: dict[int, tuple[Path, int, int]] = {}
        for number, row in enumerate(tables[0]):
            place = f"images, entry {number + 1}"
            sizes = [self._int(row, name, place) for name in ("width", "height")]
            if min(sizes) < 1:
                raise self._error("width and height must be at least 1", place)
            identity = self._int(row, "id", place)
            if identity in headers:
                raise self._error(f"the id {identity} is already another image's", place)
            headers[identity] = self._image(row, place), sizes[0], sizes[1]
        objects: dict[int, list[_Object]] = {identity: [] for identity in headers}
        for number, row in enumerate(tables[1]):
            place = f"annotations, entry {number + 1}"
            image, kind = (self._int(row, name, place) for name in ("image_id", "category_id"))
            if image not in headers:
                raise self._error(f"there is no image with the id {image}", place)
            if kind not in classes:
                raise self._error(f"there is no category with the id {kind}", place)
            if classes[kind] not in names:
                fact = f'the class "{classes[kind]}" is not one of {", ".join(names)}'
                raise self._error(fact, place)
            annotated = self._object(row, names.index(classes[kind]), *headers[image], place)
            if annotated:
                objects[image].append(annotated)
        images = tuple(_annotate(*headers[identity], rows) for identity, rows in objects.items())
        if not images:
            raise UserError("there are no images in it", place=str(self.path), remedy=f"See {FORMAT}.")
        edges = (edge for rows in objects.values() for item in rows for edge in item.edges)
        if max(edges, default=2) <= 1:
            remedy = "Give bbox in pixels, not as fractions of the image."
            raise UserError("all boxes lie in the first pixel", place=str(self.path), remedy=remedy)
        self.empty = len(tables[1]) - sum(map(len, objects.values()))
        return CocoSet(self.path, names, images)

    def _object(
        self, row: Mapping[str, Any], kind: int, file: Path, width: int, height: int, place: str
    ) -> "_Object | None":
        """Return the object of an annotation; none if its box has no width or no height."""
        box = row.get("bbox")
        numeric = isinstance(box, list) and len(box) == 4 and all(map(_is_number, box))
        if not numeric:
            raise self._error("bbox is not [x, y, width, height]", place)
        assert isinstance(box, list)
        crowd = row.get("iscrowd")
        if crowd not in (None, 0, 1):
            raise self._error("iscrowd is not 0 or 1", place)
        if min(box[2:]) == 0:
            return None
        left, top, right, bottom = box[0], box[1], box[0] + box[2], box[1] + box[3]
        # Many data sets have boxes that end a pixel outside; those parts are cut off.
        edges = max(left, 0), max(top, 0), min(right, width), min(bottom, height)
        if edges[0] >= edges[2] or edges[1] >= edges[3]:
            fact = f"the box {box} has no part in {file.name} ({width} x {height} pixels)"
            raise self._error(fact, place)
        self.cut += min(left, top, width - right, height - bottom) < -1
        area = row.get("area")
        if not (_is_number(area) and area > 0):  # type: ignore[operator]
            area = (edges[2] - edges[0]) * (edges[3] - edges[1])
        return _Object(edges, kind, bool(crowd), float(area))  # type: ignore[arg-type]

    def _image(self, row: Mapping[str, Any], place: str) -> Path:
        name = PurePosixPath(self._text(row, "file_name", place))
        if name.is_absolute() or ".." in name.parts or "\0" in str(name):
            raise self._error(f'file_name "{name}" leaves the folder of the images', place)
        return self.images / name

    def _table(self, content: object, name: str) -> list[Mapping[str, Any]]:
        rows = content.get(name) if isinstance(content, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise UserError(f'no list "{name}" of objects', place=str(self.path), remedy=f"See {FORMAT}.")
        return rows

    def _int(self, row: Mapping[str, Any], name: str, place: str) -> int:
        value = row.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._error(f"{name} is not a whole number", place)
        return value

    def _text(self, row: Mapping[str, Any], name: str, place: str) -> str:
        value = row.get(name)
        if not isinstance(value, str) or not value:
            raise self._error(f"{name} is not a text", place)
        return value

    def _error(self, fact: str, place: str) -> UserError:
        return UserError(fact, place=f"{self.path}: {place}", remedy="Correct it, or remove the entry.")


@dataclass(frozen=True)
class _Object:
    edges: tuple[float, float, float, float]
    kind: int
    crowd: bool
    area: float


def _annotate(file: Path, width: int, height: int, objects: Sequence[_Object]) -> Annotated:
    return Annotated(
        file,
        width,
        height,
        np.array([item.edges for item in objects], dtype=np.float64).reshape(-1, 4),
        np.array([item.kind for item in objects], dtype=np.int64),
        np.array([item.crowd for item in objects], dtype=np.bool_),
        np.array([item.area for item in objects], dtype=np.float64),
    )


def _is_number(value: object) -> bool:
    # An int of more than 308 digits does not fit into a float.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
