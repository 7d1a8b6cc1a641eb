"""Preparation of images with objects: generated scenes, or COCO folders that are stored once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multihead.data.build_cache import cached_build
from multihead.data.images.listing import Listing, list_images
from multihead.data.images.opening import Form, Pixels, open_image
from multihead.data.images.store import ImageStore, ImageWriter
from multihead.data.plan import shuffle_indices
from multihead.data.store import BrokenStoreError
from multihead.errors import UserError
from multihead.system import randomness
from multihead.system.disk import cache_root
from multihead.system.progress import OnProgress
from multihead.tasks.detection.coco import Annotated, read_coco
from multihead.tasks.detection.scenes import ImageStencils, Scene, SceneMaker, ShapeStencils, Stencils
from multihead.tasks.detection.settings import DataSettings
from multihead.tasks.images.prepare import MAX_HELD_OUT, numbers_of

VERSION = 1
"""Increases when the same images are prepared differently."""
SUMMARY, BOXES, CLASSES = "summary.json", "boxes.npy", "classes.npy"
GREY = 114
"""Shade of the padding beside an image that is not square."""
TEST_SEED = randomness.derive(0, "test scenes")
"""Seeds the generated test set, independently of data.seed."""
GARMENTS = (
    "T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot",
)  # fmt: skip
"""The classes of Fashion-MNIST (Xiao et al. 2017)."""


class SceneSet(Protocol):
    """Images with objects."""

    def __len__(self) -> int:
        """Return the number of images in an epoch."""
        ...

    def scene(self, index: int, epoch: int) -> Scene:
        """Return an image; a function of its arguments."""
        ...


@dataclass(frozen=True)
class GeneratedScenes:
    """Generated scenes, new ones in each epoch."""

    maker: SceneMaker
    count: int

    def __len__(self) -> int:
        return self.count

    def scene(self, index: int, epoch: int) -> Scene:
        """See ``SceneSet``."""
        return self.maker.scene(epoch * self.count + index)


class StoredScenes:
    """Images with objects in a folder: a ``ImageStore``, whose labels count objects, and their boxes.

    Raises:
        BrokenStoreError: the folder is missing, truncated or foreign.
    """

    def __init__(self, folder: Path) -> None:
        self.images = ImageStore(folder)
        try:
            self.boxes: NDArray[np.float32] = np.load(folder / BOXES, allow_pickle=False)
            self.classes: NDArray[np.int64] = np.load(folder / CLASSES, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise BrokenStoreError(f"{folder}: {error}") from error
        self.starts = np.concatenate([[0], np.cumsum(self.images.labels)])
        if self.boxes.shape != (self.starts[-1], 4) or self.classes.shape != (self.starts[-1],):
            raise BrokenStoreError(f"{folder}: {self.boxes.shape} boxes, {self.classes.shape} classes")

    def __len__(self) -> int:
        return len(self.images)

    def scene(self, index: int, epoch: int) -> Scene:
        """See ``SceneSet``; every epoch has the same images."""
        span = slice(self.starts[index], self.starts[index + 1])
        return Scene(self.images.pixels[index], self.boxes[span], self.classes[span])


@dataclass(frozen=True)
class PreparedScenes:
    """Images with objects, prepared for training.

    Attributes:
        train: training images.
        valid: validation images.
        names: names of the classes.
        size: height and width of the images in pixels.
        most: largest number of objects in an image.
        report: summary of the data, in two or three lines.
        fingerprint: hash of everything that the preparation depends on.
    """

    train: SceneSet
    valid: SceneSet
    names: tuple[str, ...]
    size: int
    most: int
    report: str
    fingerprint: str


def prepare_scenes(data: DataSettings, *, progress: OnProgress) -> PreparedScenes:
    """Generate scenes, or read, scale and store the images of COCO folders.

    Raises:
        UserError: unreadable or missing files (see ``coco`` and ``opening``); classes that differ.
    """
    return _generate(data) if data.generate else _store(data, progress)


def _generate(data: DataSettings) -> PreparedScenes:
    stencils, held_out, digest = _stencils(data)
    seeds = [randomness.derive(data.seed, name) for name in ("training scenes", "validation scenes")]
    makers = [
        SceneMaker(source, data.image_size, data.most_objects, seed)
        for source, seed in zip((stencils, held_out), seeds, strict=True)
    ]
    count = max(1, min(MAX_HELD_OUT, round(data.valid_fraction * data.generated)))
    report = (
        f"{data.generated:,} generated scenes an epoch, {data.image_size} x {data.image_size}, of 1 to "
        f"{data.most_objects} of {len(stencils.names)} classes of objects\n{count:,} scenes for validation"
    )
    return PreparedScenes(
        train=GeneratedScenes(makers[0], data.generated),
        valid=GeneratedScenes(makers[1], count),
        names=tuple(stencils.names),
        size=data.image_size,
        most=data.most_objects,
        report=report,
        fingerprint=f"{VERSION} {data.generate} {data.image_size} {data.most_objects} {data.seed} "
        f"{data.generated} {data.valid_fraction} {digest}",
    )


def _stencils(data: DataSettings) -> tuple[Stencils, Stencils, str]:
    """Return the objects of training and validation scenes, and a hash of them."""
    if data.generate == "shapes":
        return ShapeStencils(), ShapeStencils(), ""
    if not data.train:
        remedy = "Set data.train to two IDX files, images and labels."
        raise UserError("no images of garments are named", place="data.train", remedy=remedy)
    listing = list_images(data.train, Path(data.dir), "data.train")
    names = data.class_names or GARMENTS
    if data.valid:
        held_out = list_images(data.valid, Path(data.dir), "data.valid")
        return garments(listing, names), garments(held_out, names), listing.digest() + held_out.digest()
    order = shuffle_indices(len(listing.labels), data.seed, "held out")
    cut = max(1, min(round(data.valid_fraction * len(order)), MAX_HELD_OUT))
    return garments(listing, names, order[cut:]), garments(listing, names, order[:cut]), listing.digest()


def garments(listing: Listing, names: Sequence[str], rows: NDArray[np.int64] | None = None) -> ImageStencils:
    """Return the objects of labelled greyscale images of one size, all of them or some rows.

    Raises:
        UserError: images of different sizes; an unknown label; a class without images.
    """
    if rows is None:
        rows = np.arange(len(listing.labels))
    labels = numbers_of(listing, tuple(names))[rows]
    images = [listing.image(int(row)).convert("L") for row in rows]
    if len({image.size for image in images}) > 1:
        raise UserError("the images differ in size", place=listing.place(0), remedy="Scale them to one size.")
    missing = sorted(set(range(len(names))) - set(labels.tolist()))
    if missing:
        raise UserError(f'the class "{names[missing[0]]}" has no images', place=listing.place(0))
    return ImageStencils(np.stack([np.asarray(image) for image in images]), labels, tuple(names))


def generated_test_scenes(data: DataSettings, files: Sequence[str] = ()) -> GeneratedScenes:
    """Return the generated test set: the same for every ``data.seed``.

    Args:
        data: kind and number of scenes.
        files: images of garments, for scenes of garments.
    """
    stencils: Stencils = ShapeStencils()
    if data.generate == "garments":
        stencils = garments(list_images(files, Path(data.dir), "data.tests"), data.class_names or GARMENTS)
    return GeneratedScenes(
        SceneMaker(stencils, data.image_size, data.most_objects, TEST_SEED), data.generated_tests
    )


def _store(data: DataSettings, progress: OnProgress) -> PreparedScenes:
    if not data.train:
        remedy = 'Set data.train to a folder in COCO\'s format, or data.generate to "shapes".'
        raise UserError("no training images are named", place="data", remedy=remedy)
    train = read_coco(data.train, Path(data.dir), "data.train", data.class_names)
    valid = read_coco(data.valid, Path(data.dir), "data.valid", train.names) if data.valid else None
    if valid is None and len(train.images) < 2:
        remedy = "Give more images, or name those for validation with data.valid."
        raise UserError("one image is too few to hold some out", place="data.train", remedy=remedy)
    crowds = sum(int(image.crowd_G.sum()) for coco in (train, valid) if coco for image in coco.images)
    inputs = {
        "version": [VERSION, ImageStore.VERSION],
        "train": train.digest(),
        "valid": valid.digest() if valid else [data.valid_fraction, data.seed],
        "size": data.image_size,
    }

    def build(folder: Path) -> dict[str, Any]:
        images, held_out = train.images, valid.images if valid else ()
        if valid is None:
            order = shuffle_indices(len(images), data.seed, "held out")
            count = max(1, min(round(data.valid_fraction * len(images)), MAX_HELD_OUT, len(images) // 2))
            held_out = tuple(images[row] for row in np.sort(order[:count]))
            images = tuple(images[row] for row in np.sort(order[count:]))
        for side, annotated in (("train", images), ("valid", held_out)):
            if all(image.crowd_G.all() for image in annotated):
                remedy = "Annotate objects, name other images, or hold out more (data.valid_fraction)."
                raise UserError("no image has an object", place=f"data.{side}", remedy=remedy)
            _write(folder / side, annotated, data.image_size, progress)
        return {"held_out": valid is None}

    return cached_build(
        cache_root(data.cache),
        inputs,
        prefix="images-",
        summary_file=SUMMARY,
        build=build,
        load=lambda folder, summary, key: _open(folder, summary, key, train.names, crowds),
    )


def _open(
    folder: Path, summary: Mapping[str, Any], key: str, names: tuple[str, ...], crowds: int
) -> PreparedScenes:
    sets = [StoredScenes(folder / side) for side in ("train", "valid")]
    size = sets[0].images.pixels.shape[-1]
    most = max(int(scenes.images.labels.max(initial=0)) for scenes in sets)
    objects = len(sets[0].boxes)
    source = ", held out of the training images" if summary["held_out"] else ""
    report = (
        f"{len(sets[0]):,} images of {size} x {size}, with {objects:,} objects of {len(names)} classes"
        f", at most {most} in an image\n{len(sets[1]):,} images for validation{source}"
    )
    if crowds:
        report += f"\n  {crowds:,} crowd regions left out"
    return PreparedScenes(sets[0], sets[1], names, size, most, report, key)


def _write(folder: Path, images: Sequence[Annotated], size: int, progress: OnProgress) -> None:
    boxes, classes = [np.zeros((0, 4))], [np.zeros(0, dtype=np.int64)]
    with ImageWriter(folder, len(images), Form(size, 3)) as writer:
        for done, image in enumerate(images):
            pixels, scale = letterbox(open_annotated(image), size)
            single = ~image.crowd_G
            boxes.append(image.boxes_G4[single] * scale)
            classes.append(image.classes_G[single])
            writer.add(pixels, int(single.sum()))
            if done % 100 == 0:
                progress("reading", done, len(images))
    np.save(folder / BOXES, np.concatenate(boxes).astype(np.float32), allow_pickle=False)
    np.save(folder / CLASSES, np.concatenate(classes), allow_pickle=False)


def open_annotated(annotated: Annotated) -> Image.Image:
    """Open an image, turned upright as its EXIF data say.

    Raises:
        UserError: it cannot be read; its size differs from its annotation.
    """
    image = open_image(annotated.file)
    if image.size != (annotated.width, annotated.height):
        fact = "the image has {} x {} pixels, but the annotations say {} x {}"
        fact = fact.format(*image.size, annotated.width, annotated.height)
        remedy = "Correct the annotations; they describe the image turned upright (EXIF orientation)."
        raise UserError(fact, place=str(annotated.file), remedy=remedy)
    return image


def letterbox(image: Image.Image, size: int) -> tuple[Pixels, float]:
    """Scale the longer side of an image to ``size``, and fill the rest with grey on the right or below.

    Returns:
        The pixels, (3, size, size), and the scale factor.
    """
    scale = size / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    image = image.convert("RGB")
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BILINEAR, reducing_gap=3.0)
    pixels = np.full((3, size, size), GREY, dtype=np.uint8)
    pixels[:, :height, :width] = np.asarray(image).transpose(2, 0, 1)
    return pixels, scale
