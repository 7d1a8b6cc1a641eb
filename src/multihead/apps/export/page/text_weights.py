"""A language model's weights in the format of the page's engine (``native/page_text.h``), and refusals."""

from collections.abc import Iterator

import torch

from multihead.apps.export.page.expressible import MOST_LAYERS, attention_faults
from multihead.apps.export.page.model_file import ModelFile
from multihead.nn.description import CausalSpec, StackSpec

MAGIC = 0x31746870
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
"""Activations, in the order of the engine's numbers."""


def not_expressible(described: CausalSpec) -> list[str]:
    """Return the properties of a model that the page's engine cannot express; empty if there are none."""
    return list(dict.fromkeys(_faults(described)))


def _faults(described: CausalSpec) -> Iterator[str]:
    if described.output.weight is not described.embedding.weight:
        yield "the output layer is not tied to the embedding"
    if described.positions.kind not in ("learned", "none"):
        yield f'positions = "{described.positions.kind}", not "learned" or "none"'
    yield from layer_faults(described.stack)


def layer_faults(stack: StackSpec) -> Iterator[str]:
    """Yield the properties of encoder layers that the page's engine cannot express."""
    layers = stack.layers
    for layer in layers:
        yield from attention_faults(layer.self_attention)
        if layer.feed_forward.activation not in ACTIVATIONS:
            yield f'activation = "{layer.feed_forward.activation}"'
    if len({residual.kind for layer in layers for residual in layer.residuals}) > 1:
        yield "layers mix pre- and post-norm"
    if len({layer.feed_forward.activation for layer in layers}) > 1:
        yield "layers differ in their activation"
    specs = [(layer.self_attention, layer.feed_forward.w_1.weight.shape) for layer in layers]
    widths = {(spec.heads, spec.d_k, spec.d_v, *shape) for spec, shape in specs}
    if len(widths) > 1:
        yield "layers differ in their widths or numbers of heads"
    if not 1 <= len(layers) <= MOST_LAYERS:
        yield f"{len(layers)} layers, not 1 to {MOST_LAYERS}"


def to_bytes(described: CausalSpec, dtype: torch.dtype) -> bytes:
    """Return a language model that :func:`not_expressible` accepts as the engine's format.

    Args:
        described: the model.
        dtype: the matrices' type: int8 with a scale per row, or float32.
    """
    file = ModelFile(dtype)
    first, learned = described.stack.layers[0], described.positions.weight
    attention, network = first.self_attention, first.feed_forward
    d_ff, d_model = network.w_1.weight.shape
    header = [
        MAGIC, dtype == torch.int8, attention.heads, d_model, attention.d_k, attention.d_v, d_ff,
        len(described.stack.layers), len(described.output.weight), first.residuals[0].kind == "pre",
        ACTIVATIONS.index(network.activation), 0 if learned is None else len(learned), described.context,
    ]  # fmt: skip
    file.linear(described.output)
    file.floats(learned)
    for layer in described.stack.layers:
        file.encoder_layer(layer)
    file.norm(described.stack.norm)
    return file.to_bytes(header, (described.embedding.scale,))
