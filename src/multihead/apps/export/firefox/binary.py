"""Marian's binary model format: named blocks of float32 or int8 (marian-nmt, ``common/binary.cpp``).

Little-endian: u64 version 1; u64 number of items; for each its name length with NUL, type, rank and data
length, u64; the names; the shapes, i32; u64 number of zeros that follow, so that data begins at a multiple of
256. Every block is padded to 256 bytes.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
