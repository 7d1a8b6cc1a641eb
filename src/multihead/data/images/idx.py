"""Reader of IDX files, the format of MNIST and similar data sets.

Format: two zero bytes, one byte for the type (0x08: unsigned bytes), one byte for the number of dimensions,
the size of each dimension as a big-endian 32-bit integer, then the values in row-major order (LeCun, Cortes
and Burges, "The MNIST database of handwritten digits").
"""

import gzip
import struct
import zlib
from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multihead.errors import UserError

UNSIGNED_BYTES = 0x08
MAX_AXES = 4
MAX_VALUES = 1 << 31
"""Maximum uncompressed size of a file, which is held in memory."""
BLOCK = 1 << 24
"""Bytes read in one call, because the header may declare more than there is memory."""

Read = Callable[[int], bytes]


def is_idx(path: Path) -> bool:
    """Return True if the name is that of an IDX file, as in ``train-images-idx3-ubyte.gz``."""
    name = path.name.removesuffix(".gz")
    return name.endswith((".idx", "-ubyte")) or ("-idx" in name and path.suffix != ".csv")


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the values of an IDX file of unsigned bytes, plain or .gz.

    Raises:
        UserError: the file is missing or damaged, its magic number is wrong, or its length does not match the
            header.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            shape = _shape(file.read(4), path, file.read)
            expected = prod(shape)
            if expected > MAX_VALUES:
                fact = f"the header declares {expected:,} values ({_sizes(shape)}): more than {MAX_VALUES:,}"
                raise UserError(fact, place=str(path), remedy="Split it, or use a folder of images.")
            values = _at_most(expected + 1, file.read)
    except FileNotFoundError:
        raise UserError("no such file", place=str(path), remedy="Check its name and folder.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        fact = f"the compressed file is damaged or truncated ({error})"
        raise UserError(fact, place=str(path), remedy="Download or compress it again.") from None
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror or error})", place=str(path)) from None
    if len(values) != expected:
        size = f"{len(values):,}" if len(values) < expected else "more"
        fact = f"the header declares {expected:,} values ({_sizes(shape)}), but there are {size}"
        raise UserError(fact, place=str(path), remedy="Download it again.")
    if not expected:
        raise UserError("the header declares no values", place=str(path), remedy="Download it again.")
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)


def _sizes(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _shape(magic: bytes, path: Path, read: Read) -> tuple[int, ...]:
    remedy = "The magic number is 0x00000803 for images, 0x00000801 for labels."
    if len(magic) < 4 or magic[:2] != b"\0\0":
        raise UserError(f"not an IDX file (magic number 0x{magic.hex()})", place=str(path), remedy=remedy)
    kind, axes = magic[2], magic[3]
    if kind != UNSIGNED_BYTES or not 1 <= axes <= MAX_AXES:
        fact = f"an IDX file of an unsupported type (magic number 0x{magic.hex()})"
        raise UserError(fact, place=str(path), remedy=remedy)
    sizes = read(4 * axes)
    if len(sizes) < 4 * axes:
        raise UserError("the header is truncated", place=str(path), remedy="Download it again.")
    return struct.unpack(f">{axes}I", sizes)


def _at_most(count: int, read: Read) -> bytearray:
    values = bytearray()
    while block := read(min(BLOCK, count - len(values))):
        values += block
    return values
