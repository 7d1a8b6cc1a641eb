"""IDX files, in which MNIST and its kin are published: a magic number, the sizes of the axes, bytes.

Format: two zero bytes, a byte for the type (0x08: unsigned bytes), a byte for the number of axes, each
axis's size as a big-endian 32-bit number, then the values, the last axis fastest (LeCun, Cortes and Burges,
"The MNIST database of handwritten digits").
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
MOST_AXES = 4
MOST_VALUES = 1 << 31
"""Bytes that one file may unfold to: they are held in memory."""
BLOCK = 1 << 24
"""Bytes read at once: a header may announce more than there is memory."""

Read = Callable[[int], bytes]


def is_idx(path: Path) -> bool:
    """Tell by its name whether a file is an idx file, as in ``train-images-idx3-ubyte.gz``."""
    name = path.name.removesuffix(".gz")
    return name.endswith((".idx", "-ubyte")) or ("-idx" in name and path.suffix != ".csv")


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the values of an idx file of unsigned bytes, plain or .gz.

    Raises:
        UserError: missing; a wrong magic number; longer or shorter than its sizes say; damaged.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            shape = _shape(file.read(4), path, file.read)
            wanted = prod(shape)
            if wanted > MOST_VALUES:
                fact = f"{wanted:,} values ({_sizes(shape)}) are announced: more than {MOST_VALUES:,}"
                raise UserError(fact, place=str(path), remedy="Divide it, or use a folder of pictures.")
            values = _at_most(wanted + 1, file.read)
    except FileNotFoundError:
        raise UserError("no such file", place=str(path), remedy="Check the name and its folder.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        fact = f"the compressed file is damaged or cut off ({error})"
        raise UserError(fact, place=str(path), remedy="Fetch or pack it again.") from None
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror or error})", place=str(path)) from None
    if len(values) != wanted:
        found = f"{len(values):,}" if len(values) < wanted else "more"
        fact = f"{wanted:,} values ({_sizes(shape)}) are announced, but there are {found}"
        raise UserError(fact, place=str(path), remedy="The file is cut off or damaged: fetch it again.")
    if not wanted:
        raise UserError("it announces no values", place=str(path), remedy="Fetch it again.")
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)


def _sizes(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _shape(magic: bytes, path: Path, read: Read) -> tuple[int, ...]:
    remedy = "Pictures have the magic number 0x00000803, labels 0x00000801."
    if len(magic) < 4 or magic[:2] != b"\0\0":
        raise UserError(f"not an idx file (magic number 0x{magic.hex()})", place=str(path), remedy=remedy)
    kind, axes = magic[2], magic[3]
    if kind != UNSIGNED_BYTES or not 1 <= axes <= MOST_AXES:
        fact = f"an idx file of another kind (magic number 0x{magic.hex()})"
        raise UserError(fact, place=str(path), remedy=remedy)
    sizes = read(4 * axes)
    if len(sizes) < 4 * axes:
        raise UserError("an idx file that ends before its values begin", place=str(path))
    return struct.unpack(f">{axes}I", sizes)


def _at_most(count: int, read: Read) -> bytearray:
    values = bytearray()
    while block := read(min(BLOCK, count - len(values))):
        values += block
    return values
