"""The models that a page can express: the models that the native kernels search."""

from collections.abc import Iterator

from multihead.nn.description import (
    AttentionSpec,
    DecoderLayerSpec,
    EncoderDecoderSpec,
    EncoderLayerSpec,
    RecurrentDecoderLayerSpec,
)

MOST_LAYERS = 64
"""Layers of a stack that the engine has room for (``native/page_model.h``)."""


def not_expressible(described: EncoderDecoderSpec) -> list[str]:
    """Return the properties of a model that the page's engine cannot express; empty if there are none."""
    return list(dict.fromkeys(_faults(described)))


def _faults(described: EncoderDecoderSpec) -> Iterator[str]:
    if described.window:
        yield f"window = {described.window}: self-attention is restricted"
    for attention in described.attentions:
        yield from attention_faults(attention)
    if len({attention.scale for attention in described.attentions}) > 1:
        yield "layers differ in the scale of their scores"
    if described.source_positions.kind != described.target_positions.kind:
        yield "source and target have different kinds of positions"
    activations = {layer.feed_forward.activation for layer in described.layers}
    if activations != {"relu"}:
        yield f'activation = "{", ".join(sorted(activations - {"relu"}))}", not "relu"'
    kinds = {residual.kind for layer in described.layers for residual in layer.residuals}
    if len(kinds) > 1:
        yield "layers mix pre- and post-norm"
    if len({type(layer) for layer in described.decoder.layers}) > 1:
        yield "decoder layers with attention and with an SSRU are mixed"
    widths = {shape for layer in described.layers for shape in _widths(layer)}
    if len(widths) > 1:
        yield "layers differ in their widths or numbers of heads"
    elif described.recurrent:
        heads, d_model, d_k, d_v, _ = next(iter(widths))
        if not heads * d_k == heads * d_v == d_model:
            yield "the state of an SSRU does not fit into the heads of the attention over the source"
    for stack in (described.encoder, described.decoder):
        if not 1 <= len(stack.layers) <= MOST_LAYERS:
            yield f"{len(stack.layers)} layers, not 1 to {MOST_LAYERS}"


def attention_faults(attention: AttentionSpec) -> Iterator[str]:
    """Yield the properties of an attention that no page's engine can express."""
    if attention.score.kind != "dot":
        yield f'score = "{attention.score.kind}", not a dot product'
    if attention.score.window is not None:
        yield "self-attention is restricted to a window"
    if attention.rotary is not None:
        yield 'positions = "rotary"'


def _widths(
    layer: EncoderLayerSpec | DecoderLayerSpec | RecurrentDecoderLayerSpec,
) -> list[tuple[int, ...]]:
    """(H, d_model, d_k, d_v, d_ff) of each attention of a layer."""
    attentions: list[AttentionSpec] = []
    if not isinstance(layer, RecurrentDecoderLayerSpec):
        attentions.append(layer.self_attention)
    if not isinstance(layer, EncoderLayerSpec):
        attentions.append(layer.cross_attention)
    d_ff, d_model = layer.feed_forward.w_1.weight.shape
    return [(spec.heads, d_model, spec.d_k, spec.d_v, d_ff) for spec in attentions]
