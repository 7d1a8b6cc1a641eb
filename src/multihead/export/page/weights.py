"""A translator's weights as the page's engine reads them in place (``native/page_model.h``).

A header, then an item for each matrix, norm and table, in a fixed order: its offset in the file and its
settings. The arrays follow, aligned to 64 bytes. Matrices are packed as the native kernels read them, so the
engine copies nothing; an embedding tied to the output layer is not stored a second time.
"""

import struct
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from multihead.engines.native.packed_linear import packed, quantised
from multihead.engines.parts import keys_of_every_head, stacked
from multihead.nn.description import (
    AttentionSpec,
    DecoderLayerSpec,
    EmbeddingSpec,
    EncoderDecoderSpec,
    EncoderLayerSpec,
    LinearSpec,
    NormSpec,
    RecurrentDecoderLayerSpec,
)

MAGIC = 0x31676870
ALIGNED = 64
POSITIONS = ("none", "sinusoidal", "sinusoidal_concatenated", "learned")
"""Kinds of positions, in the order of the engine's numbers."""


def to_bytes(described: EncoderDecoderSpec, dtype: torch.dtype) -> bytes:
    """Return a model that ``expressible`` accepts as the engine's format.

    Args:
        described: the model.
        dtype: of the matrices: int8, with a scale per row, or float32.
    """
    return _File(dtype).of(described)


def as_stored(described: EncoderDecoderSpec, dtype: torch.dtype) -> EncoderDecoderSpec:
    """Return the model with its embeddings rounded as ``to_bytes`` stores them."""
    if dtype != torch.int8:
        return described
    target = _rounded(described.target)
    tied = described.source.weight is described.target.weight
    source = replace(target, scale=described.source.scale) if tied else _rounded(described.source)
    return replace(described, source=source, target=target)


def _rounded(embedding: EmbeddingSpec) -> EmbeddingSpec:
    numbers, scale = quantised(embedding.weight.detach().float())
    return replace(embedding, weight=numbers.float() * scale)


class _File:
    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._items: list[int | float] = []
        self._arrays: list[bytes] = []

    def of(self, described: EncoderDecoderSpec) -> bytes:
        first, own = described.encoder.layers[0], described.decoder.layers[0]
        attention = first.self_attention
        d_ff, d_model = first.feed_forward.w_1.weight.shape
        learned = (described.source_positions.weight, described.target_positions.weight)
        header = [
            MAGIC, self._dtype == torch.int8, attention.heads, d_model, attention.d_k, attention.d_v, d_ff,
            len(described.encoder.layers), len(described.decoder.layers),
            len(described.source.weight), len(described.output.weight),
            first.residuals[0].kind == "pre", isinstance(own, RecurrentDecoderLayerSpec),
            described.first_input == "zero", POSITIONS.index(described.target_positions.kind),
            *(0 if table is None else len(table) for table in learned),
        ]  # fmt: skip
        output, target, source = described.output, described.target, described.source
        self._linear([output])
        self._linear([LinearSpec(target.weight, None)] if target.weight is not output.weight else [])
        self._linear([LinearSpec(source.weight, None)] if source.weight is not target.weight else [])
        for table in learned:
            self._floats(table)
        for layer in described.encoder.layers:
            self._encoder_layer(layer)
        self._norm(described.encoder.norm)
        for layer in described.decoder.layers:
            self._decoder_layer(layer)
        self._norm(described.decoder.norm)
        return self._joined(struct.pack(f"<{len(header)}i2f", *map(int, header), source.scale, target.scale))

    def _encoder_layer(self, layer: EncoderLayerSpec) -> None:
        self._self_attention(layer.self_attention)
        self._linear([layer.feed_forward.w_1])
        self._linear([layer.feed_forward.w_2])
        for residual in layer.residuals:
            self._norm(residual.norm)

    def _decoder_layer(self, layer: DecoderLayerSpec | RecurrentDecoderLayerSpec) -> None:
        if isinstance(layer, RecurrentDecoderLayerSpec):
            self._linear([layer.cell.w, layer.cell.w_f])
            self._linear([])
        else:
            self._self_attention(layer.self_attention)
        source, network = layer.cross_attention, layer.feed_forward
        self._linear([source.w_q], source.scale)
        for part in (source.w_o, network.w_1, network.w_2):
            self._linear([part])
        for residual in layer.residuals:
            self._norm(residual.norm)
        self._linear(keys_of_every_head(source))

    def _self_attention(self, spec: AttentionSpec) -> None:
        self._linear([spec.w_q, *keys_of_every_head(spec)], spec.scale)
        self._linear([spec.w_o])

    def _linear(self, parts: Sequence[LinearSpec], first: float = 1.0) -> None:
        """Add a matrix of stacked layers and its bias; no parts: an absent matrix."""
        if not parts:
            self._array(b"")
            self._array(b"")
            return
        weight, bias = stacked(*parts, first=first)
        self._array(packed(weight, self._dtype).numpy().tobytes())
        self._floats(bias)

    def _norm(self, norm: NormSpec | None) -> None:
        self._floats(None if norm is None else norm.weight)
        self._floats(None if norm is None else norm.bias)
        self._items.append(0.0 if norm is None else norm.epsilon)

    def _floats(self, numbers: Tensor | None) -> None:
        self._array(b"" if numbers is None else _little(numbers))

    def _array(self, content: bytes) -> None:
        self._items.append(len(self._arrays))
        self._arrays.append(content)

    def _joined(self, header: bytes) -> bytes:
        size = len(header) + sum(8 if isinstance(item, float) else 4 for item in self._items)
        offsets, body = [], bytearray()
        begin = _aligned(size)
        for array in self._arrays:
            offsets.append(begin + len(body) if array else 0)
            body += array + bytes(_aligned(len(array)) - len(array))
        items = b"".join(
            struct.pack("<d", item) if isinstance(item, float) else struct.pack("<I", offsets[int(item)])
            for item in self._items
        )
        head = header + items
        return head + bytes(begin - len(head)) + bytes(body) + bytes(ALIGNED)


def _little(numbers: Tensor) -> bytes:
    return numbers.detach().float().contiguous().numpy().astype(np.dtype("<f4"), copy=False).tobytes()


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
