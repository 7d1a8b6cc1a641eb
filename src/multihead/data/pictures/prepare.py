"""From picture files to what training reads: of one form, memory-mapped; done once, then found again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multihead.data.build_cache import found_or_built
from multihead.data.folders import cache_root
from multihead.data.pictures.digits import NAMES, draw_digits
from multihead.data.pictures.listing import ArrayListing, Listing, listed
from multihead.data.pictures.opening import Form, channels_of, fitted
from multihead.data.pictures.store import PictureStore, PictureWriter
from multihead.data.plan import shuffled
from multihead.errors import UserError
from multihead.progress import OnProgress
from multihead.settings.tasks.pictures import DataSettings

VERSION = 1
"""Goes up when the same pictures would be prepared in another way."""
SUMMARY = "summary.json"
MOST_HELD_OUT = 5000
CHANNELS = {"grey": 1, "colour": 3}


@dataclass(frozen=True)
class Prepared:
    """Pictures, ready for training.

    Attributes:
        train: to train on.
        valid: to validate on.
        class_names: by number.
        form: what all were brought to.
        held_out: whether the validation pictures were taken from the training ones.
        converted: how many training and validation pictures had another size or mode.
        fingerprint: hash of everything that the preparation depends on.
    """

    train: PictureStore
    valid: PictureStore
    class_names: tuple[str, ...]
    form: Form
    held_out: bool
    converted: int
    fingerprint: str

    @property
    def report(self) -> str:
        """What the pictures turned out to be, in a sentence or two."""
        colour = "grey" if self.form.channels == 1 else "colour"
        told = f"{len(self.train):,} pictures of {len(self.class_names)} classes, "
        told += f"{self.form.size} x {self.form.size}, {colour}"
        if self.converted:
            told += f"; {self.converted:,} had another size or mode and were brought to this"
        source = ", held out of the training pictures" if self.held_out else ""
        return f"{told}\n{len(self.valid):,} pictures for validation{source}"


def prepare(data: DataSettings, *, progress: OnProgress | None = None) -> Prepared:
    """Read, hold out, bring to one form and store; or find all that done by an earlier call.

    Args:
        data: the files, and what pictures are brought to.
        progress: is told how far it has come.

    Raises:
        UserError: bad files (see ``listing`` and ``opening``), a label outside the classes, a cache that
            cannot be written.
    """
    train = _training(data)
    valid = listed(data.valid, Path(data.dir), "data.valid") if data.valid else None
    names = class_names(train, data.class_names)
    form = form_of(train, data)
    basis = {
        "version": [VERSION, PictureStore.VERSION],
        "train": train.digest(),
        "valid": valid.digest() if valid else [data.valid_fraction, data.seed],
        "names": names,
        "form": [form.size, form.channels],
        "most": data.max_pictures,
    }

    def build(folder: Path) -> dict[str, Any]:
        learn, look = _parted(train, valid, data)
        told: OnProgress = progress or (lambda stage, done, total: None)
        converted = _stored(folder / "train", train, learn, names, form, told)
        converted += _stored(folder / "valid", valid or train, look, names, form, told)
        return {
            "names": names,
            "form": [form.size, form.channels],
            "converted": converted,
            "held_out": valid is None,
        }

    return found_or_built(
        cache_root(data.cache), basis, prefix="pictures-", summary_file=SUMMARY, build=build, find=_opened
    )


def _training(data: DataSettings) -> Listing:
    if data.generate and not data.train:
        pixels, numbers = draw_digits(data.generated, data.seed)
        return ArrayListing(pixels, [NAMES[n] for n in numbers], "generated digits", numbered=False)
    if not data.train:
        remedy = "Name them: data.train, a folder of class folders, a CSV file, or two idx files."
        raise UserError("no training pictures are named", place="data", remedy=remedy)
    return listed(data.train, Path(data.dir), "data.train")


def class_names(pictures: Listing, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the classes: those given, else the labels that occur, numbers in their order."""
    if given:
        return given
    found = set(pictures.labels)
    if pictures.numbered:
        return tuple(str(number) for number in range(max(map(int, found)) + 1))
    return tuple(sorted(found))


def form_of(pictures: Listing, data: DataSettings) -> Form:
    """Return what pictures are brought to: as the settings say, else as the first one is."""
    first = pictures.picture(0)
    channels = CHANNELS.get(data.channels) or channels_of(first)
    return Form(data.picture_size or min(first.size), channels)


def numbers_of(pictures: Listing, names: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the class of each picture as a number, (N,).

    Raises:
        UserError: a label outside the classes; the first such picture is named.
    """
    by_name = {name: number for number, name in enumerate(names)}
    if pictures.numbered:  # labels are numbers, whatever the classes are called
        by_name = {str(number): number for number in range(len(names))}
    for index, label in enumerate(pictures.labels):
        if label not in by_name:
            known = f"{len(names)} classes" if len(names) > 12 else ", ".join(by_name)
            fact = f'label "{label}" is none of the classes ({known})'
            raise UserError(fact, place=pictures.place(index), remedy="Correct it, or see data.class_names.")
    return np.array([by_name[label] for label in pictures.labels], dtype=np.int64)


def _parted(
    train: Listing, valid: Listing | None, data: DataSettings
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which of the training pictures to train on, and which pictures to validate on."""
    total = len(train.labels)
    if valid is not None:
        learn, look = np.arange(total), np.arange(len(valid.labels))
    else:
        if total < 2:
            raise UserError("one picture is too few to hold some out", place="data.train")
        count = max(1, min(round(data.valid_fraction * total), MOST_HELD_OUT, total // 2))
        order = shuffled(total, data.seed, "held out")
        learn, look = np.sort(order[count:]), np.sort(order[:count])
    if data.max_pictures and data.max_pictures < len(learn):
        learn = learn[np.linspace(0, len(learn) - 1, data.max_pictures).round().astype(np.int64)]
    return learn, look


def _stored(
    folder: Path,
    pictures: Listing,
    chosen: NDArray[np.int64],
    names: tuple[str, ...],
    form: Form,
    progress: OnProgress,
) -> int:
    """Store the chosen pictures; return how many were of another size or mode."""
    numbers = numbers_of(pictures, names)
    converted = 0
    with PictureWriter(folder, len(chosen), form) as writer:
        for done, index in enumerate(chosen.tolist()):
            picture = pictures.picture(index)
            converted += picture.size != (form.size, form.size) or channels_of(picture) != form.channels
            writer.add(fitted(picture, form), int(numbers[index]))
            if done % 1000 == 0:
                progress("reading", done, len(chosen))
    progress("reading", len(chosen), len(chosen))
    return converted


def _opened(folder: Path, summary: Any, key: str) -> Prepared:
    return Prepared(
        train=PictureStore(folder / "train"),
        valid=PictureStore(folder / "valid"),
        class_names=tuple(summary["names"]),
        form=Form(*summary["form"]),
        held_out=summary["held_out"],
        converted=summary["converted"],
        fingerprint=key,
    )
