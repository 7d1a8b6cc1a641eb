"""The file of a model as the page's engine reads it in place (``native/page_model.h``).

A header, then an item for each matrix, norm and table, in a fixed order: its offset in the file and its
settings. The arrays follow, aligned to 64 bytes. Matrices are packed as the native kernels read them, so the
engine copies nothing.
"""

import struct
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from multihead.engines.native.packed_linear import pack
from multihead.engines.parts import keys_of_every_head, stack_layers
from multihead.nn.description import AttentionSpec, EncoderLayerSpec, LinearSpec, NormSpec
from multihead.system.native import FORMATS

ALIGNED = 64


class ModelFile:
    """Collects the items and arrays of a model, in the engine's order.

    Args:
        dtype: the matrices' type: int8 with a scale per row, or float32.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._items: list[int | float] = []
        self._arrays: list[bytes] = []

    def linear(self, *parts: LinearSpec, first: float = 1.0) -> None:
        """Add a matrix of stacked layers and its bias; no parts: an absent matrix."""
        if not parts:
            self._array(b"")
            self._array(b"")
            return
        weight, bias = stack_layers(*parts, first=first)
        self._array(pack(weight.detach().float().numpy(), FORMATS[self._dtype]).tobytes())
        self.floats(bias)

    def norm(self, norm: NormSpec | None) -> None:
        """Add a layer norm; None: an absent one."""
        self.floats(None if norm is None else norm.weight)
        self.floats(None if norm is None else norm.bias)
        self._items.append(0.0 if norm is None else norm.epsilon)

    def floats(self, numbers: Tensor | None) -> None:
        """Add a table in float32; None: an absent one."""
        self._array(b"" if numbers is None else _little(numbers))

    def self_attention(self, spec: AttentionSpec) -> None:
        """Add W^Q, W^K and W^V as one matrix, with the scale of the scores folded into W^Q; and W^O."""
        self.linear(spec.w_q, *keys_of_every_head(spec), first=spec.scale)
        self.linear(spec.w_o)

    def encoder_layer(self, layer: EncoderLayerSpec) -> None:
        """Add a layer of self-attention and feed-forward."""
        self.self_attention(layer.self_attention)
        self.linear(layer.feed_forward.w_1)
        self.linear(layer.feed_forward.w_2)
        for residual in layer.residuals:
            self.norm(residual.norm)

    def to_bytes(self, header: Sequence[int], factors: Sequence[float]) -> bytes:
        """Return the file: numbers of 32 bits, then factors in float32, items and arrays."""
        head = struct.pack(f"<{len(header)}i{len(factors)}f", *map(int, header), *factors)
        size = len(head) + sum(8 if isinstance(item, float) else 4 for item in self._items)
        offsets, body = [], bytearray()
        begin = _align(size)
        for array in self._arrays:
            offsets.append(begin + len(body) if array else 0)
            body += array + bytes(_align(len(array)) - len(array))
        head += b"".join(
            struct.pack("<d", item) if isinstance(item, float) else struct.pack("<I", offsets[item])
            for item in self._items
        )
        return head + bytes(begin - len(head)) + bytes(body) + bytes(ALIGNED)

    def _array(self, content: bytes) -> None:
        self._items.append(len(self._arrays))
        self._arrays.append(content)


def _little(numbers: Tensor) -> bytes:
    return numbers.detach().float().contiguous().numpy().astype(np.dtype("<f4"), copy=False).tobytes()


def _align(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
