"""Preparation of labelled images: converted and stored once, then loaded from the cache."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multihead.data.build_cache import cached_build
from multihead.data.images.digits import NAMES, draw_digits
from multihead.data.images.listing import ArrayListing, Listing, list_images
from multihead.data.images.opening import Form, channels_of, fit_image
from multihead.data.images.store import ImageStore, ImageWriter
from multihead.data.plan import evenly_spaced, shuffle_indices
from multihead.errors import UserError
from multihead.system.disk import cache_root
from multihead.system.progress import OnProgress
from multihead.tasks.images.settings import DataSettings

VERSION = 1
"""Increases when the same images are prepared differently."""
SUMMARY = "summary.json"
MAX_HELD_OUT = 5000
CHANNELS = {"grey": 1, "colour": 3}


@dataclass(frozen=True)
class PreparedImages:
    """Labelled images, prepared for training.

    Attributes:
        train: training images.
        valid: validation images.
        class_names: names of the classes, by number.
        form: size and channels of all images.
        held_out: True if the validation images were held out of the training images.
        converted: number of images converted from another size or mode.
        fingerprint: hash of everything that the preparation depends on.
        greyed: number of colour images converted to greyscale.
    """

    train: ImageStore
    valid: ImageStore
    class_names: tuple[str, ...]
    form: Form
    held_out: bool
    converted: int
    fingerprint: str
    greyed: int = 0

    @property
    def report(self) -> str:
        """Summary of the data, in two to four lines."""
        colour = "greyscale" if self.form.channels == 1 else "colour"
        summary = f"{len(self.train):,} images of {len(self.class_names)} classes, "
        summary += f"{self.form.size} x {self.form.size}, {colour}"
        if self.converted:
            summary += f"; {self.converted:,} converted from another size or mode"
        if self.greyed:
            summary += (
                f"\n  {self.greyed:,} colour images lose their colours; data.channels = colour keeps them"
            )
        source = ", held out of the training images" if self.held_out else ""
        return f"{summary}\n{len(self.valid):,} images for validation{source}{self._classes_without_images()}"

    def _classes_without_images(self) -> str:
        """Return a line on the classes without training images, if any."""
        counts_K = np.bincount(self.train.labels, minlength=len(self.class_names))
        names = [name for name, count in zip(self.class_names, counts_K, strict=True) if not count]
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        return f"\n  {len(names):,} classes without training images ({shown})" if names else ""


def prepare(data: DataSettings, *, progress: OnProgress | None = None) -> PreparedImages:
    """Hold out validation images, convert to one size and store; or load all that from the cache.

    Args:
        data: the files, and the size and channels to convert to.
        progress: called with the progress of each stage.

    Raises:
        UserError: an unreadable file (see ``listing`` and ``opening``), a label outside the classes, or a
            cache that cannot be written.
    """
    train = _training(data)
    if len(set(train.labels)) < 2:
        remedy = "Give images of at least two classes."
        raise UserError(f'all images are of the class "{train.labels[0]}"', place="data.train", remedy=remedy)
    valid = list_images(data.valid, Path(data.dir), "data.valid") if data.valid else None
    names = class_names(train, data.class_names)
    form = form_of(train, data)
    inputs = {
        "version": [VERSION, ImageStore.VERSION],
        "train": train.digest(),
        "valid": valid.digest() if valid else [data.valid_fraction, data.seed],
        "names": names,
        "form": [form.size, form.channels],
        "most": data.max_images,
    }

    def build(folder: Path) -> dict[str, Any]:
        train_rows, valid_rows = _split(train, valid, data)
        report: OnProgress = progress or (lambda stage, done, total: None)
        sides = ("train", train, train_rows), ("valid", valid or train, valid_rows)
        counts = [_store(folder / side, images, rows, names, form, report) for side, images, rows in sides]
        return {
            "names": names,
            "form": [form.size, form.channels],
            "converted": sum(converted for converted, _ in counts),
            "greyed": sum(greyed for _, greyed in counts),
            "held_out": valid is None,
        }

    return cached_build(
        cache_root(data.cache), inputs, prefix="images-", summary_file=SUMMARY, build=build, load=_open
    )


def _training(data: DataSettings) -> Listing:
    if data.generate and not data.train:
        pixels, numbers = draw_digits(data.generated, data.seed)
        return ArrayListing(pixels, [NAMES[n] for n in numbers], "generated digits", numbered=False)
    if not data.train:
        remedy = "Set data.train to a folder of class folders, a CSV file, or two IDX files."
        raise UserError("no training images are named", place="data", remedy=remedy)
    return list_images(data.train, Path(data.dir), "data.train")


def class_names(images: Listing, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the given class names, else the sorted labels (numbers from 0 to the largest)."""
    if given:
        return given
    labels = set(images.labels)
    if images.numbered:
        return tuple(str(number) for number in range(max(map(int, labels)) + 1))
    return tuple(sorted(labels))


def form_of(images: Listing, data: DataSettings) -> Form:
    """Return the size and channels to convert to: from the settings, else from the first image."""
    first = images.image(0)
    channels = CHANNELS.get(data.channels) or channels_of(first)
    return Form(data.image_size or min(first.size), channels)


def numbers_of(images: Listing, names: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the class number of each image, (N,).

    Raises:
        UserError: a label outside the classes, with the place of the first such image.
    """
    by_name = {name: number for number, name in enumerate(names)}
    if images.numbered:  # labels are class numbers, regardless of the names
        by_name = {str(number): number for number in range(len(names))}
    for index, label in enumerate(images.labels):
        if label not in by_name:
            classes = f"{len(names)} classes" if len(names) > 12 else ", ".join(by_name)
            fact = f'label "{label}" is not one of the classes ({classes})'
            raise UserError(fact, place=images.place(index), remedy="Correct it, or set data.class_names.")
    return np.array([by_name[label] for label in images.labels], dtype=np.int64)


def _split(
    train: Listing, valid: Listing | None, data: DataSettings
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of the training and the validation images."""
    total = len(train.labels)
    if valid is not None:
        train_rows, valid_rows = np.arange(total), np.arange(len(valid.labels))
    else:
        if total < 2:
            remedy = "Give more images, or name those for validation with data.valid."
            raise UserError("one image is too few to hold some out", place="data.train", remedy=remedy)
        count = max(1, min(round(data.valid_fraction * total), MAX_HELD_OUT, total // 2))
        order = shuffle_indices(total, data.seed, "held out")
        train_rows, valid_rows = np.sort(order[count:]), np.sort(order[:count])
    if data.max_images and data.max_images < len(train_rows):
        train_rows = train_rows[evenly_spaced(len(train_rows), data.max_images)]
    return train_rows, valid_rows


def _store(
    folder: Path,
    images: Listing,
    rows: NDArray[np.int64],
    names: tuple[str, ...],
    form: Form,
    progress: OnProgress,
) -> tuple[int, int]:
    """Store the images at ``rows``.

    Returns:
        The number converted from another size or mode, and of these from colour to greyscale.
    """
    numbers = numbers_of(images, names)
    converted = greyed = 0
    with ImageWriter(folder, len(rows), form) as writer:
        for done, index in enumerate(rows.tolist()):
            image = images.image(index)
            converted += image.size != (form.size, form.size) or channels_of(image) != form.channels
            greyed += channels_of(image) > form.channels
            writer.add(fit_image(image, form), int(numbers[index]))
            if done % 1000 == 0:
                progress("reading", done, len(rows))
    progress("reading", len(rows), len(rows))
    return converted, greyed


def _open(folder: Path, summary: Any, key: str) -> PreparedImages:
    return PreparedImages(
        train=ImageStore(folder / "train"),
        valid=ImageStore(folder / "valid"),
        class_names=tuple(summary["names"]),
        form=Form(*summary["form"]),
        held_out=summary["held_out"],
        converted=summary["converted"],
        fingerprint=key,
        greyed=summary.get("greyed", 0),
    )
