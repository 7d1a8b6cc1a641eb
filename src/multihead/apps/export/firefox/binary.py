"""Marian's binary model format: named blocks of float32 or int8 (marian-nmt, ``common/binary.cpp``).

Little-endian: u64 version 1; u64 number of items; for each its name length with NUL, type, rank and data
length, u64; the names; the shapes, i32; u64 number of zeros that follow, so that data begins at a multiple of
256. Every block is padded to 256 bytes.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multihead.errors import UserError

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.int8]

ALIGNED = 256
FLOAT32, INTGEMM8, INT8 = 0x404, 0x4101, 0x101
"""Types: a signed integer is 0x100, a float 0x400, intgemm's layout 0x4000; the low byte is the size."""
SETTINGS = "special:model.yml"
"""The item that holds the model's settings as YAML text."""
UNTURNED = "Wemb"
"""The only int8 matrix that is not stored transposed: its rows are looked up."""


@dataclass(frozen=True, eq=False)
class Quantized:
    """round(multiplier * W) in int8, and the multiplier; ``values`` has W's shape, (K, N)."""

    values: Bytes
    multiplier: float

    @classmethod
    def of(cls, weight: Floats, limit: int = 127) -> "Quantized":
        """Quantise so that the largest absolute value becomes ``limit``."""
        multiplier = np.float32(limit) / max(np.float32(np.abs(weight).max(initial=0)), np.float32(1e-9))
        return cls(np.clip(np.rint(weight * multiplier), -limit, limit).astype(np.int8), float(multiplier))

    @property
    def restore(self) -> Floats:
        """The matrix that the int8 values stand for."""
        return self.values.astype(np.float32) / np.float32(self.multiplier)


Item = Floats | Quantized


def write(items: Mapping[str, Item], settings: str) -> bytes:
    """Return the contents of a model file.

    Args:
        items: parameters by name; all of them have two axes, except [1] of a single number.
        settings: YAML text.
    """
    text = np.frombuffer(settings.encode() + b"\0", dtype=np.int8)
    blocks = [(name, *_block(name, item)) for name, item in sorted(items.items())]
    blocks.append((SETTINGS, INT8, text.shape, text.tobytes()))
    padded = [content + bytes(-len(content) % ALIGNED) for *_, content in blocks]
    head = struct.pack("<QQ", 1, len(blocks))
    for (name, kind, shape, _), content in zip(blocks, padded, strict=True):
        head += struct.pack("<4Q", len(name.encode()) + 1, kind, len(shape), len(content))
    head += b"".join(name.encode() + b"\0" for name, *_ in blocks)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in blocks)
    zeros = -(len(head) + 8) % ALIGNED
    return head + struct.pack("<Q", zeros) + bytes(zeros) + b"".join(padded)


def _block(name: str, item: Item) -> tuple[int, tuple[int, ...], bytes]:
    if isinstance(item, Quantized):
        stored = item.values if name == UNTURNED else item.values.T
        return INTGEMM8, item.values.shape, stored.tobytes() + struct.pack("<f", item.multiplier)
    return FLOAT32, item.shape, item.astype("<f4").tobytes()


def read(content: bytes, *, place: str = "model") -> tuple[dict[str, Item], str]:
    """Return the parameters and the settings of a model file.

    Raises:
        UserError: the file is cut short, or is not one that :func:`write` makes.
    """
    try:
        items = dict(_items(content))
        settings = items.pop(SETTINGS)
        assert isinstance(settings, bytes)
        parameters = {name: item for name, item in items.items() if not isinstance(item, bytes)}
        return parameters, settings.rstrip(b"\0").decode()
    except (ValueError, KeyError, AssertionError, struct.error, UnicodeDecodeError):
        remedy = "Export the run again."
        raise UserError("not a whole model in Marian's format", place=place, remedy=remedy) from None


def _items(content: bytes) -> Iterator[tuple[str, Item | bytes]]:
    version, count = struct.unpack_from("<QQ", content)
    if version != 1 or count > len(content):
        raise ValueError("another version")
    heads = [struct.unpack_from("<4Q", content, 16 + 32 * i) for i in range(count)]
    place = 16 + 32 * count
    names = []
    for length, *_ in heads:
        names.append(content[place : place + length - 1].decode())
        place += length
    shapes: list[Sequence[int]] = []
    for _, _, rank, _ in heads:
        shapes.append(struct.unpack_from(f"<{rank}i", content, place))
        place += 4 * rank
    (zeros,) = struct.unpack_from("<Q", content, place)
    place += 8 + zeros
    for name, shape, (_, kind, _, length) in zip(names, shapes, heads, strict=True):
        block = content[place : place + length]
        if len(block) < length:
            raise ValueError("cut short")
        yield name, _item(name, kind, shape, block)
        place += length


def _item(name: str, kind: int, shape: Sequence[int], block: bytes) -> Item | bytes:
    size = int(np.prod(shape))
    if kind == FLOAT32:
        return np.frombuffer(block, "<f4", size).reshape(shape).astype(np.float32)
    if kind == INTGEMM8:
        values = np.frombuffer(block, np.int8, size)
        turned = values.reshape(shape) if name == UNTURNED else values.reshape(shape[::-1]).T
        return Quantized(turned, struct.unpack_from("<f", block, size)[0])
    if kind == INT8:
        return block[:size]
    raise ValueError("another type")
