"""Pictures with captions, listed in a file or drawn by the package: stored once, then found again."""

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

from multihead.data.build_cache import found_or_built
from multihead.data.catalogue import remedy_for_missing
from multihead.data.folders import cache_root
from multihead.data.pictures.opening import Form, channels_of, fitted, open_picture
from multihead.data.pictures.prepare import CHANNELS
from multihead.data.pictures.shapes import draw_shapes
from multihead.data.pictures.store import PictureStore, PictureWriter
from multihead.data.pictures.table import cells
from multihead.data.plan import shuffled
from multihead.errors import UserError
from multihead.progress import OnProgress
from multihead.settings import TokenizerSettings as Vocabulary
from multihead.settings.tasks.drawing import DataSettings, TokenizerSettings
from multihead.text.lines import file_kind, read_lines
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

VERSION = 1
"""Goes up when the same pictures would be prepared in another way."""
SUMMARY, TOKENIZER = "summary.json", "tokenizer.json"
FILE, CAPTION = "file", "caption"
LARGEST = 1 << 28
"""Bytes of a picture in a .zip file; a larger one is refused."""
LARGEST_SUM = 1 << 33
"""Bytes of all listed pictures in a .zip file, which are held in memory; more are refused."""
UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError)
"""What reading a damaged .zip file ends in; a ``RuntimeError`` where it is encrypted, or oddly packed."""


@dataclass(frozen=True)
class Captioned:
    """Pictures and captions, ready for training; picture i of a store has the store's label i as its number.

    Attributes:
        train: to train on.
        valid: to validate on; their captions are in no training pair.
        captions: all, by number.
        tokenizer: cuts captions.
        form: what all pictures were brought to.
        fingerprint: hash of everything that the preparation depends on.
    """

    train: PictureStore
    valid: PictureStore
    captions: tuple[str, ...]
    tokenizer: Tokenizer
    form: Form
    fingerprint: str

    @property
    def text_length(self) -> int:
        """The longest caption's tokens."""
        return max(map(len, self.tokenizer.encode_batch(list(self.captions))))


@dataclass(frozen=True)
class _Pairs:
    """Captions, how to get the picture of each, and a hash of all pictures."""

    captions: Sequence[str]
    picture: Callable[[int], Image.Image]
    digest: str


def prepare(
    data: DataSettings, tokenizer: TokenizerSettings, *, progress: OnProgress | None = None
) -> Captioned:
    """Read, hold out, learn the vocabulary and store; or find all that done by an earlier call.

    Args:
        data: the files.
        tokenizer: how captions are cut.
        progress: is told how far it has come.

    Raises:
        UserError: a missing list or picture (with its line), a damaged one, a cache that cannot be written.
    """
    pairs = _pairs(data)
    first = pairs.picture(0)
    form = Form(data.picture_size or min(first.size), CHANNELS.get(data.channels) or channels_of(first))
    basis = {
        "version": VERSION,
        "captions": hashlib.sha256(json.dumps(list(pairs.captions)).encode()).hexdigest(),
        "pictures": pairs.digest,
        "train": [data.train_fraction, data.seed],
        "form": [form.size, form.channels],
        "tokenizer": tokenizer.model_dump(mode="json"),
    }

    def build(folder: Path) -> dict[str, Any]:
        _build(folder, pairs, data, tokenizer, form, progress or (lambda *_: None))
        return {"captions": list(pairs.captions), "form": [form.size, form.channels]}

    return found_or_built(
        cache_root(data.cache), basis, prefix="captions-", summary_file=SUMMARY, build=build, find=_opened
    )


def _build(
    folder: Path,
    pairs: _Pairs,
    data: DataSettings,
    settings: TokenizerSettings,
    form: Form,
    progress: OnProgress,
) -> None:
    seen, unseen = parted(pairs.captions, data.train_fraction, data.seed)
    if not len(seen) or not len(unseen):
        fact = f"{len(pairs.captions):,} pictures are too few to hold some out"
        raise UserError(
            fact, place="data.train_fraction", remedy="At least two different captions are needed."
        )
    for name, rows in (("train", seen), ("valid", unseen)):
        with PictureWriter(folder / name, len(rows), form) as writer:
            for done, number in enumerate(rows.tolist()):
                writer.add(fitted(pairs.picture(number), form), number)
                if done % 1000 == 0:
                    progress(f"reading pictures ({name})", done, len(rows))
    learned = train(
        [pairs.captions[number] for number in seen.tolist()],
        Vocabulary(kind=settings.kind, vocab_size=settings.vocab_size),
    )
    learned.save(folder / TOKENIZER)


def parted(
    captions: Sequence[str], fraction: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of the pictures to train on and of the others; equal captions stay together."""
    different = list(dict.fromkeys(captions))
    order = shuffled(len(different), seed, "seen captions")
    seen = {different[place] for place in order[: round(fraction * len(different))].tolist()}
    is_seen = np.array([caption in seen for caption in captions])
    return np.flatnonzero(is_seen), np.flatnonzero(~is_seen)


def _pairs(data: DataSettings) -> _Pairs:
    if data.generate and not data.captions:
        pixels, captions = draw_shapes()
        pictures = pixels.transpose(0, 2, 3, 1)
        return _Pairs(captions, lambda number: Image.fromarray(pictures[number]), _hash([pixels.tobytes()]))
    if not data.captions:
        remedy = "Name a list of pictures: data.captions, a TSV or CSV file."
        raise UserError("no captions are named", place="data", remedy=remedy)
    path = Path(data.dir) / data.captions
    rows = _rows(path)
    place = Path(data.dir) / data.pictures if data.pictures else path.parent
    if not place.exists():
        raise UserError("no such file or folder", place=str(place), remedy=remedy_for_missing(place))
    contents = _zipped(place, rows, path) if place.is_file() else _lying(place, rows, path)
    captions = [caption for _, _, caption in rows]

    def picture(number: int) -> Image.Image:
        line, name, _ = rows[number]
        return open_picture(io.BytesIO(contents(name)), f"{path}:{line} ({name})")

    return _Pairs(captions, picture, _hash(contents(name) for _, name, _ in rows))


def _hash(contents: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for content in contents:
        found.update(hashlib.sha256(content).digest())
    return found.hexdigest()


def _rows(path: Path) -> list[tuple[int, str, str]]:
    """Return line, file and caption of each picture on a list."""
    delimiter = "," if file_kind(str(path)) == ".csv" else "\t"
    lines = read_lines(str(path))
    heading = [name.strip().lower() for name in cells(next(lines, ""), delimiter, f"{path}:1")]
    if FILE not in heading or CAPTION not in heading:
        fact = f'no columns "{FILE}" and "{CAPTION}" in its first line ({", ".join(heading) or "empty"})'
        raise UserError(fact, place=f"{path}:1", remedy="Its first line names the columns.")
    rows = []
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        # In a TSV file quotes are just characters.
        place = f"{path}:{number}"
        row = line.split("\t") if delimiter == "\t" else cells(line, delimiter, place)
        if len(row) != len(heading):
            raise UserError(f"{len(row)} columns, but the first line has {len(heading)}", place=place)
        name, caption = row[heading.index(FILE)], row[heading.index(CAPTION)].strip()
        if not caption:
            raise UserError("a picture without a caption", place=place)
        rows.append((number, name, caption))
    if not rows:
        raise UserError("no picture is listed", place=str(path))
    return rows


def _lying(folder: Path, rows: Sequence[tuple[int, str, str]], path: Path) -> Callable[[str], bytes]:
    for line, name, _ in rows:
        if not (folder / name).is_file():
            raise _missing(name, path, line, folder)
    return lambda name: (folder / name).read_bytes()


def _zipped(file: Path, rows: Sequence[tuple[int, str, str]], path: Path) -> Callable[[str], bytes]:
    try:
        with zipfile.ZipFile(file) as packed:
            sizes = {info.filename: info.file_size for info in packed.infolist()}
            for line, name, _ in rows:
                if name not in sizes:
                    raise _missing(name, path, line, file)
                if sizes[name] > LARGEST:
                    raise UserError(f"{name} unfolds to {sizes[name]:,} bytes", place=str(file))
            if (total := sum(sizes[name] for name in {name for _, name, _ in rows})) > LARGEST_SUM:
                remedy = "Unpack it, and name the folder: data.pictures."
                raise UserError(f"its pictures unfold to {total:,} bytes", place=str(file), remedy=remedy)
            contents = {name: packed.read(name) for _, name, _ in rows}
    except (*UNREADABLE, RuntimeError) as error:
        fact = f"not a .zip file that can be read ({error})"
        remedy = "Fetch it again; or unpack it, and name the folder: data.pictures."
        raise UserError(fact, place=str(file), remedy=remedy) from None
    return contents.__getitem__


def _missing(name: str, path: Path, line: int, where: Path) -> UserError:
    return UserError(
        f'there is no picture "{name}" in {where}', place=f"{path}:{line}", remedy="Or see data.pictures."
    )


def _opened(folder: Path, summary: Any, key: str) -> Captioned:
    return Captioned(
        train=PictureStore(folder / "train"),
        valid=PictureStore(folder / "valid"),
        captions=tuple(summary["captions"]),
        tokenizer=Tokenizer.load(folder / TOKENIZER),
        form=Form(*summary["form"]),
        fingerprint=key,
    )
