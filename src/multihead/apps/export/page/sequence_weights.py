"""BERT's and ViT's weights in the format of the page's engine (``native/page_sequence.h``), and refusals."""

from collections.abc import Iterator

import torch

from multihead.apps.export.page.model_file import ModelFile
from multihead.apps.export.page.text_weights import ACTIVATIONS, layer_faults
from multihead.nn.description import ImageSpec, LinearSpec, MaskedSpec, StackSpec

MAGIC = 0x31736870


def not_expressible(described: MaskedSpec | ImageSpec) -> list[str]:
    """Return the properties of a model that the page's engine cannot express; empty if there are none."""
    return list(dict.fromkeys(_faults(described)))


def _faults(described: MaskedSpec | ImageSpec) -> Iterator[str]:
    yield from layer_faults(described.stack)
    if isinstance(described, ImageSpec):
        return
    if described.output.weight is not described.embedding.weight:
        yield "the output layer is not tied to the embedding"
    if described.positions.kind != "learned":
        yield f'positions = "{described.positions.kind}", not "learned"'
    activations = {described.activation, *(layer.feed_forward.activation for layer in described.stack.layers)}
    if len(activations) > 1:
        yield "the output's hidden layer has a different activation from the layers"


def to_bytes(described: MaskedSpec | ImageSpec, dtype: torch.dtype) -> bytes:
    """Return a model that :func:`not_expressible` accepts as the engine's format.

    Args:
        described: the model.
        dtype: the matrices' type: int8 with a scale per row, or float32.
    """
    file = ModelFile(dtype)
    if isinstance(described, MaskedSpec):
        positions, factor = described.positions.weight, described.embedding.scale
        assert positions is not None
        file.linear(described.output)
        file.floats(positions + described.segments[0])  # a page reads one text
        file.norm(described.embedding_norm)
        file.linear(described.transform)
        file.norm(described.transform_norm)
        kind = (0, len(positions), 0, False)
        output = described.output
    else:
        factor, output = 1.0, described.classifier
        first = [part.reshape(-1, part.shape[-1]) for part in described.first]
        file.linear(output)
        file.floats(described.positions)
        file.linear(described.patches)
        file.floats(torch.cat(first) if first else None)
        inputs = described.patches.weight.shape[1]
        kind = (inputs, len(described.positions), sum(map(len, first)), described.pooling == "mean")
    for layer in described.stack.layers:
        file.encoder_layer(layer)
    file.norm(described.stack.norm)
    return file.to_bytes(_header(described.stack, output, kind, dtype), (factor,))


def _header(
    stack: StackSpec, output: LinearSpec, kind: tuple[int, int, int, bool], dtype: torch.dtype
) -> list[int]:
    first = stack.layers[0]
    attention, network = first.self_attention, first.feed_forward
    d_ff, d_model = network.w_1.weight.shape
    inputs, positions, before_patches, mean = kind
    return [
        MAGIC, dtype == torch.int8, attention.heads, d_model, attention.d_k, attention.d_v, d_ff,
        len(stack.layers), len(output.weight), inputs, first.residuals[0].kind == "pre",
        ACTIVATIONS.index(network.activation), positions, before_patches, mean,
    ]  # fmt: skip
