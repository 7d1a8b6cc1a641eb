"""Reads the models that the export to Firefox writes in Marian's format."""

import struct
from collections.abc import Iterator, Sequence

import numpy as np

from multihead.apps.export.firefox.binary import (
    FLOAT32,
    INT8,
    INTGEMM8,
    SETTINGS,
    UNTURNED,
    Item,
    Quantized,
)


def read(content: bytes) -> tuple[dict[str, Item], str]:
    """Return the parameters and the settings of a model file."""
    items = dict(_items(content))
    settings = items.pop(SETTINGS)
    assert isinstance(settings, bytes)
    parameters = {name: item for name, item in items.items() if not isinstance(item, bytes)}
    return parameters, settings.rstrip(b"\0").decode()


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
