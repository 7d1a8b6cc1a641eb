"""Preparation of captioned images, listed in a file or generated: stored once, then loaded from a cache."""

import hashlib
import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from multihead.data.build_cache import cached_build
from multihead.data.catalogue import remedy_for_missing
from multihead.data.images.listing import read_image_table
from multihead.data.images.opening import Form, channels_of, fit_image, open_image
from multihead.data.images.shapes import draw_shapes
from multihead.data.images.store import ImageStore, ImageWriter
from multihead.data.plan import shuffle_indices
from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings as Vocabulary
from multihead.system.disk import cache_root
from multihead.system.progress import OnProgress
from multihead.tasks.drawing.settings import DataSettings, TokenizerSettings
from multihead.tasks.images.prepare import CHANNELS
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

VERSION = 1
"""Increases when the same images are prepared differently."""
SUMMARY, TOKENIZER = "summary.json", "tokenizer.json"
CAPTION = "caption"
"""Name of the column of captions in a list of images."""
MAX_IMAGE_BYTES = 1 << 28
"""Maximum uncompressed size of an image in a .zip file."""
MAX_TOTAL_BYTES = 1 << 33
"""Maximum uncompressed size of all listed images in a .zip file, which are held in memory."""
UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError)
"""Exceptions of a damaged .zip file (an encrypted one raises ``RuntimeError``)."""


@dataclass(frozen=True)
class Captioned:
    """Captioned images, prepared for training; the label of an image is the index of its caption.

    Attributes:
        train: training images.
        valid: validation images; their captions never occur in training.
        captions: the captions of all images.
        tokenizer: tokenizer of the captions.
        form: size and channels of all images.
        fingerprint: hash of everything that the preparation depends on.
    """

    train: ImageStore
    valid: ImageStore
    captions: tuple[str, ...]
    tokenizer: Tokenizer
    form: Form
    fingerprint: str

    @property
    def text_length(self) -> int:
        """Length of the longest caption in tokens."""
        return max(map(len, self.tokenizer.encode_batch(list(self.captions))))


@dataclass(frozen=True)
class _Pairs:
    """Captions, a function that opens the image of each, and a hash of all images."""

    captions: Sequence[str]
    image: Callable[[int], Image.Image]
    digest: str


def prepare(
    data: DataSettings, tokenizer: TokenizerSettings, *, progress: OnProgress | None = None
) -> Captioned:
    """Hold out validation captions, train the tokenizer and store; or load all that from the cache.

    Args:
        data: the files.
        tokenizer: the tokenizer to train on the captions.
        progress: called with the progress of each stage.

    Raises:
        UserError: a missing or damaged list or image, or a cache that cannot be written.
    """
    pairs = _pairs(data)
    first = pairs.image(0)
    form = Form(data.image_size or min(first.size), CHANNELS.get(data.channels) or channels_of(first))
    inputs = {
        "version": VERSION,
        "captions": hashlib.sha256(json.dumps(list(pairs.captions)).encode()).hexdigest(),
        "images": pairs.digest,
        "train": [data.train_fraction, data.seed],
        "form": [form.size, form.channels],
        "tokenizer": tokenizer.model_dump(mode="json"),
    }

    def build(folder: Path) -> dict[str, Any]:
        _build(folder, pairs, data, tokenizer, form, progress or (lambda *_: None))
        return {"captions": list(pairs.captions), "form": [form.size, form.channels]}

    return cached_build(
        cache_root(data.cache), inputs, prefix="captions-", summary_file=SUMMARY, build=build, load=_open
    )


def _build(
    folder: Path,
    pairs: _Pairs,
    data: DataSettings,
    settings: TokenizerSettings,
    form: Form,
    progress: OnProgress,
) -> None:
    seen, unseen = split_captions(pairs.captions, data.train_fraction, data.seed)
    if not len(unseen):
        fact = "a single caption is too few to hold some out"
        raise UserError(fact, place="data.captions", remedy="Give at least two different captions.")
    for name, rows in (("train", seen), ("valid", unseen)):
        with ImageWriter(folder / name, len(rows), form) as writer:
            for done, number in enumerate(rows.tolist()):
                writer.add(fit_image(pairs.image(number), form), number)
                if done % 1000 == 0:
                    progress(f"reading images ({name})", done, len(rows))
    captions = [pairs.captions[number] for number in seen.tolist()]
    vocabulary = Vocabulary(kind=settings.kind, vocab_size=settings.vocab_size)
    train(captions, vocabulary).save(folder / TOKENIZER)


def split_captions(
    captions: Sequence[str], fraction: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of the training and the validation images; equal captions stay together."""
    different = list(dict.fromkeys(captions))
    order = shuffle_indices(len(different), seed, "seen captions")
    count = max(1, min(round(fraction * len(different)), len(different) - 1))
    seen = {different[place] for place in order[:count].tolist()}
    is_seen = np.array([caption in seen for caption in captions])
    return np.flatnonzero(is_seen), np.flatnonzero(~is_seen)


def _pairs(data: DataSettings) -> _Pairs:
    if data.generate and not data.captions:
        pixels, captions = draw_shapes()
        images = pixels.transpose(0, 2, 3, 1)
        return _Pairs(captions, lambda number: Image.fromarray(images[number]), _hash([pixels.tobytes()]))
    if not data.captions:
        remedy = "Set data.captions to a TSV or CSV file that lists images and captions."
        raise UserError("no captions are named", place="data", remedy=remedy)
    path = Path(data.dir) / data.captions
    rows = read_image_table(path, CAPTION)
    place = Path(data.dir) / data.images if data.images else path.parent
    if not place.exists():
        raise UserError("no such file or folder", place=str(place), remedy=remedy_for_missing(place))
    contents = _from_zip(place, rows) if place.is_file() else _from_folder(place, rows)
    captions = [caption for _, _, caption in rows]

    def image(number: int) -> Image.Image:
        place, name, _ = rows[number]
        return open_image(io.BytesIO(contents(name)), f"{place} ({name})")

    return _Pairs(captions, image, _hash(contents(name) for _, name, _ in rows))


def _hash(contents: Iterable[bytes]) -> str:
    sha256 = hashlib.sha256()
    for content in contents:
        sha256.update(hashlib.sha256(content).digest())
    return sha256.hexdigest()


def _from_folder(folder: Path, rows: Sequence[tuple[str, str, str]]) -> Callable[[str], bytes]:
    for place, name, _ in rows:
        if not (folder / name).is_file():
            raise _missing(name, place, folder)
    return lambda name: (folder / name).read_bytes()


def _from_zip(file: Path, rows: Sequence[tuple[str, str, str]]) -> Callable[[str], bytes]:
    try:
        with zipfile.ZipFile(file) as packed:
            sizes = {info.filename: info.file_size for info in packed.infolist()}
            for place, name, _ in rows:
                if name not in sizes:
                    raise _missing(name, place, file)
                if sizes[name] > MAX_IMAGE_BYTES:
                    fact = f"{name} is {sizes[name]:,} bytes uncompressed: more than {MAX_IMAGE_BYTES:,}"
                    raise UserError(fact, place=str(file))
            if (total := sum(sizes[name] for name in {name for _, name, _ in rows})) > MAX_TOTAL_BYTES:
                remedy = "Unpack it, and name the folder with data.images."
                fact = f"its images are {total:,} bytes uncompressed: more than {MAX_TOTAL_BYTES:,}"
                raise UserError(fact, place=str(file), remedy=remedy)
            contents = {name: packed.read(name) for _, name, _ in rows}
    except (*UNREADABLE, RuntimeError) as error:
        fact = f"not a readable .zip file ({error})"
        remedy = "Download it again; or unpack it, and name the folder with data.images."
        raise UserError(fact, place=str(file), remedy=remedy) from None
    return contents.__getitem__


def _missing(name: str, place: str, where: Path) -> UserError:
    remedy = "Correct the name, or set data.images."
    return UserError(f'no image "{name}" in {where}', place=place, remedy=remedy)


def _open(folder: Path, summary: Any, key: str) -> Captioned:
    return Captioned(
        train=ImageStore(folder / "train"),
        valid=ImageStore(folder / "valid"),
        captions=tuple(summary["captions"]),
        tokenizer=Tokenizer.load(folder / TOKENIZER),
        form=Form(*summary["form"]),
        fingerprint=key,
    )
