"""Safe reading of image files, and conversion to a fixed size and number of channels."""

import struct
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from multihead.errors import UserError

Pixels = NDArray[np.uint8]
"""(channels, height, width), 0 is black."""

MAX_PIXELS = 64_000_000
"""Maximum size of an image in pixels; larger ones may be decompression bombs."""

SUFFIXES = frozenset(
    f".{kind}" for kind in ("png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff", "pgm")
)
"""Extensions of the image files read from a folder; other files are counted and left out."""

_MODES = {1: "L", 3: "RGB"}
_BROKEN = (
    *(OSError, SyntaxError, ValueError, EOFError, struct.error),
    *(IndexError, KeyError, TypeError, AttributeError, ArithmeticError),
)
"""Exceptions that Pillow raises for damaged files; it documents none."""


FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "PPM")
"""Formats read. Pillow opens some others through external programs: it would run an EPS file."""


@dataclass(frozen=True, slots=True)
class Form:
    """Size and channels that images are converted to.

    Attributes:
        size: height and width in pixels.
        channels: 1 (greyscale) or 3 (RGB).
    """

    size: int
    channels: int


def open_image(path: Path | BinaryIO, place: str = "") -> Image.Image:
    """Open an image as greyscale ("L") or colour ("RGB"), rotated by its EXIF tag, on a white background.

    An animation gives its first frame; 16 bits a channel are reduced to the upper 8.

    Args:
        path: the file, or an open one.
        place: place named in errors; default: the path.

    Raises:
        UserError: the file is missing, not an image, damaged, truncated, or too large.
    """
    place = place or str(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit is lower
            with Image.open(path, formats=FORMATS) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise _too_large(f"{image.width:,} x {image.height:,} pixels", place)
                upright = ImageOps.exif_transpose(image)
                upright.load()
        return _plain(upright)
    except FileNotFoundError:
        raise UserError("no such image", place=place, remedy="Check its name and folder.") from None
    except IsADirectoryError:
        raise UserError("is a directory", place=place, remedy="Name an image in it.") from None
    except UnidentifiedImageError:
        raise UserError("not a readable image", place=place, remedy="Convert it to PNG or JPEG.") from None
    except (Image.DecompressionBombError, MemoryError):
        raise _too_large("its size", place) from None
    except _BROKEN as error:
        fact = f"the image is damaged or truncated ({error})"
        raise UserError(fact, place=place, remedy="Download it again, or remove it.") from None


def _too_large(what: str, place: str) -> UserError:
    fact = f"{what} is more than the maximum size of an image ({MAX_PIXELS:,} pixels)"
    return UserError(fact, place=place, remedy="Scale it down first.")


def _plain(image: Image.Image) -> Image.Image:
    if image.mode in ("L", "RGB") and "transparency" not in image.info:
        return image
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        values = np.asarray(image, dtype=np.float64)
        most = values.max(initial=0)
        top = 65535 if most > 255 else 1 if image.mode == "F" and most <= 1 else 255
        return Image.fromarray((values.clip(0, top) * (255 / top)).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        coloured = image.convert("RGBA")
        paper = Image.new("RGBA", coloured.size, "white")
        grey = image.mode in ("L", "LA", "La")
        return Image.alpha_composite(paper, coloured).convert("L" if grey else "RGB")
    return image.convert("L" if image.mode == "1" else "RGB")


def find_images(folder: Path) -> tuple[list[Path], str]:
    """Return the images in a folder and its subfolders, sorted, and a note on the other files, if any.

    Hidden files and folders (``.DS_Store``, ``._photo.jpg``, ``.ipynb_checkpoints``) are neither.
    """
    visible = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    images = [path for path in visible if path.suffix.lower() in SUFFIXES]
    kinds = sorted({path.suffix.lower() or path.name for path in visible} - SUFFIXES)
    count = len(visible) - len(images)
    return images, f"{count:,} other files left out ({', '.join(kinds)})" if count else ""


def channels_of(image: Image.Image) -> int:
    """Return 1 for a greyscale image, 3 for a colour one."""
    return 1 if image.mode == "L" else 3


def fit_image(image: Image.Image, form: Form) -> Pixels:
    """Scale the shorter side to ``form.size`` and centre-crop the longer one; (channels, size, size)."""
    if image.mode != _MODES[form.channels]:
        image = image.convert(_MODES[form.channels])
    if image.size != (form.size, form.size):
        image = ImageOps.fit(image, (form.size, form.size), Image.Resampling.BICUBIC)
    pixels = np.asarray(image, dtype=np.uint8)
    return pixels[None] if form.channels == 1 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def as_image(pixels_Chw: Pixels) -> Image.Image:
    """Return pixels, (channels, height, width), as an image."""
    if pixels_Chw.shape[0] == 1:
        return Image.fromarray(pixels_Chw[0])
    return Image.fromarray(np.ascontiguousarray(pixels_Chw.transpose(1, 2, 0)))
