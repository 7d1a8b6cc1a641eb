"""One picture file, opened with care: damaged, huge and odd ones are told or brought to the form wanted."""

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

MOST_PIXELS = 64_000_000
"""Larger pictures are refused: a small file can unfold to more memory than there is (a "bomb")."""

SUFFIXES = frozenset(
    f".{kind}" for kind in ("png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff", "pgm")
)
"""What a picture's file name ends with in a folder of pictures; others are left alone."""

_MODES = {1: "L", 3: "RGB"}
_BROKEN = (
    *(OSError, SyntaxError, ValueError, EOFError, struct.error),
    *(IndexError, KeyError, TypeError, AttributeError, ArithmeticError),
)
"""What Pillow raises of damaged files, of which it promises nothing."""


FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "PPM")
"""What is read. Of what else Pillow knows some is read by other programs: EPS is a program, and run."""


@dataclass(frozen=True, slots=True)
class Form:
    """What pictures are brought to.

    Attributes:
        size: height and width.
        channels: 1 or 3.
    """

    size: int
    channels: int


def open_picture(path: Path | BinaryIO, place: str = "") -> Image.Image:
    """Return a picture, grey ("L") or coloured ("RGB"), upright; what is transparent becomes white.

    Of an animation it is the first frame; of 16 bits a channel the upper 8.

    Args:
        path: its file, or its content.
        place: what errors call it; default its path.

    Raises:
        UserError: missing, no picture, damaged or cut off, or too large to be unpacked.
    """
    place = place or str(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit is lower
            with Image.open(path, formats=FORMATS) as picture:
                _check_size(*picture.size, place)
                upright = ImageOps.exif_transpose(picture)
                upright.load()
        return _plain(upright)
    except FileNotFoundError:
        raise UserError("no such picture", place=place, remedy="Check the name and its folder.") from None
    except IsADirectoryError:
        raise UserError("is a directory", place=place, remedy="Name a picture in it.") from None
    except UnidentifiedImageError:
        raise UserError("not a picture that can be read", place=place, remedy="PNG and JPEG can.") from None
    except (Image.DecompressionBombError, MemoryError):
        raise _too_large("its size", place) from None
    except _BROKEN as error:
        fact = f"the picture is damaged or cut off ({error})"
        raise UserError(fact, place=place, remedy="Fetch it again, or leave it out.") from None


def _check_size(width: int, height: int, place: str) -> None:
    if width * height > MOST_PIXELS:
        raise _too_large(f"{width:,} x {height:,} pixels", place)


def _too_large(what: str, place: str) -> UserError:
    fact = f"{what} is more than a picture may have ({MOST_PIXELS:,} pixels)"
    return UserError(fact, place=place, remedy="Scale it down first.")


def _plain(picture: Image.Image) -> Image.Image:
    if picture.mode in ("L", "RGB"):
        return picture
    if picture.mode in ("I", "F") or picture.mode.startswith("I;16"):
        values = np.asarray(picture, dtype=np.float64)
        top = 65535 if values.max(initial=0) > 255 else 255
        return Image.fromarray((values.clip(0, top) * (255 / top)).astype(np.uint8))
    if picture.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in picture.info:
        coloured = picture.convert("RGBA")
        paper = Image.new("RGBA", coloured.size, "white")
        return Image.alpha_composite(paper, coloured).convert("L" if picture.mode in ("LA", "La") else "RGB")
    return picture.convert("L" if picture.mode == "1" else "RGB")


def channels_of(picture: Image.Image) -> int:
    """Return 1 for a grey picture, 3 for a coloured one."""
    return 1 if picture.mode == "L" else 3


def fitted(picture: Image.Image, form: Form) -> Pixels:
    """Scale the shorter side to ``form.size``, crop the longer one in the middle; (channels, size, size)."""
    if picture.mode != _MODES[form.channels]:
        picture = picture.convert(_MODES[form.channels])
    if picture.size != (form.size, form.size):
        picture = ImageOps.fit(picture, (form.size, form.size), Image.Resampling.BICUBIC)
    pixels = np.asarray(picture, dtype=np.uint8)
    return pixels[None] if form.channels == 1 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def as_picture(pixels_Chw: Pixels) -> Image.Image:
    """Return pixels, (channels, height, width), as a picture."""
    if pixels_Chw.shape[0] == 1:
        return Image.fromarray(pixels_Chw[0])
    return Image.fromarray(np.ascontiguousarray(pixels_Chw.transpose(1, 2, 0)))
