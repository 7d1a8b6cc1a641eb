"""A translator's weights in the format of the page's engine.

An embedding tied to the output layer is not stored a second time; with int8 the engine reads embeddings from
the output layer's rounded rows.
"""

from dataclasses import replace

import torch

from multihead.apps.export.page.model_file import ModelFile
from multihead.engines.native.packed_linear import quantise
from multihead.engines.parts import keys_of_every_head
from multihead.nn.description import (
    DecoderLayerSpec,
    EmbeddingSpec,
    EncoderDecoderSpec,
    LinearSpec,
    RecurrentDecoderLayerSpec,
)

MAGIC = 0x31676870
POSITIONS = ("none", "sinusoidal", "sinusoidal_concatenated", "learned")
"""Kinds of positions, in the order of the engine's numbers."""


def to_bytes(described: EncoderDecoderSpec, dtype: torch.dtype) -> bytes:
    """Return a model that ``expressible`` accepts as the engine's format.

    Args:
        described: the model.
        dtype: the matrices' type: int8 with a scale per row, or float32.
    """
    file = ModelFile(dtype)
    first, first_decoder = described.encoder.layers[0], described.decoder.layers[0]
    attention = first.self_attention
    d_ff, d_model = first.feed_forward.w_1.weight.shape
    learned = (described.source_positions.weight, described.target_positions.weight)
    header = [
        MAGIC, dtype == torch.int8, attention.heads, d_model, attention.d_k, attention.d_v, d_ff,
        len(described.encoder.layers), len(described.decoder.layers),
        len(described.source.weight), len(described.output.weight),
        first.residuals[0].kind == "pre", isinstance(first_decoder, RecurrentDecoderLayerSpec),
        described.first_input == "zero", POSITIONS.index(described.target_positions.kind),
        *(0 if table is None else len(table) for table in learned),
    ]  # fmt: skip
    output, target, source = described.output, described.target, described.source
    file.linear(output)
    for embedding, tied in ((target, output), (source, target)):
        file.linear(*([] if embedding.weight is tied.weight else [LinearSpec(embedding.weight, None)]))
    for table in learned:
        file.floats(table)
    for layer in described.encoder.layers:
        file.encoder_layer(layer)
    file.norm(described.encoder.norm)
    for layer in described.decoder.layers:
        _decoder_layer(file, layer)
    file.norm(described.decoder.norm)
    return file.to_bytes(header, (source.scale, target.scale))


def _decoder_layer(file: ModelFile, layer: DecoderLayerSpec | RecurrentDecoderLayerSpec) -> None:
    if isinstance(layer, RecurrentDecoderLayerSpec):
        file.linear(layer.cell.w, layer.cell.w_f)
        file.linear()
    else:
        file.self_attention(layer.self_attention)
    source, network = layer.cross_attention, layer.feed_forward
    file.linear(source.w_q, first=source.scale)
    for part in (source.w_o, network.w_1, network.w_2):
        file.linear(part)
    for residual in layer.residuals:
        file.norm(residual.norm)
    file.linear(*keys_of_every_head(source))


def as_stored(described: EncoderDecoderSpec, dtype: torch.dtype) -> EncoderDecoderSpec:
    """Return the model with its embeddings rounded as ``to_bytes`` stores them."""
    if dtype != torch.int8:
        return described
    target = _round(described.target)
    tied = described.source.weight is described.target.weight
    source = replace(target, scale=described.source.scale) if tied else _round(described.source)
    return replace(described, source=source, target=target)


def _round(embedding: EmbeddingSpec) -> EmbeddingSpec:
    numbers, scale = map(torch.from_numpy, quantise(embedding.weight.detach().float().numpy()))
    return replace(embedding, weight=numbers.float() * scale)
