"""The models that Firefox's translation engine can express: Marian's students (Kim et al. 2019)."""

from collections.abc import Iterator

from multihead.nn.description import AttentionSpec, EncoderDecoderSpec, RecurrentDecoderLayerSpec

EPSILON = 1e-6
"""Epsilon of Marian's layer norms."""
MULTIPLE = 64
"""Inner dimensions of int8 products are multiples of this: the widest register."""
LARGEST_MISMATCH = 1e-7


def not_expressible(described: EncoderDecoderSpec) -> list[str]:
    """Return the properties of a model that the engine cannot express; empty if there are none."""
    return list(dict.fromkeys(_faults(described)))


def _faults(described: EncoderDecoderSpec) -> Iterator[str]:
    decoders = described.decoder.layers
    if not all(isinstance(layer, RecurrentDecoderLayerSpec) for layer in decoders):
        yield 'decoder_cell = "attention", not "ssru"'
    if described.window:
        yield f"window = {described.window}"
    if described.first_input != "zero":
        yield f'first_input = "{described.first_input}", not "zero"'
    positions = (described.source_positions, described.target_positions)
    if kinds := {spec.kind for spec in positions} - {"sinusoidal_concatenated"}:
        yield f'positions = "{", ".join(sorted(kinds))}", not "sinusoidal_concatenated"'
    matrices = {id(part.weight) for part in (described.source, described.target, described.output)}
    width = described.target.weight.shape[1]
    if len(matrices) > 1:
        yield 'tied is not "all": embeddings and output layer are not one matrix'
    if {described.source.scale, described.target.scale} != {width**0.5}:
        yield "embeddings are not scaled by sqrt(d_model)"
    yield from _residual_faults(described)
    for attention in described.attentions:
        yield from _attention_faults(attention, width)
    if len({attention.heads for attention in described.attentions}) > 1:
        yield "attention layers differ in their number of heads"
    yield from _size_faults(described, width)


def _residual_faults(described: EncoderDecoderSpec) -> Iterator[str]:
    stacks = (described.encoder, described.decoder)
    residuals = [residual for layer in described.layers for residual in layer.residuals]
    if any(stack.norm is not None for stack in stacks) or {spec.kind for spec in residuals} != {"post"}:
        yield 'norm = "pre", not "post"'
    if any(abs(spec.norm.epsilon - EPSILON) > LARGEST_MISMATCH for spec in residuals):
        yield f"norm_epsilon = {residuals[0].norm.epsilon:g}, not {EPSILON:g}"
    activations = {layer.feed_forward.activation for layer in described.layers}
    if activations != {"relu"}:
        yield f'activation = "{", ".join(sorted(activations - {"relu"}))}", not "relu"'


def _attention_faults(attention: AttentionSpec, d_model: int) -> Iterator[str]:
    if attention.d_k * attention.heads != d_model or attention.d_v != attention.d_k:
        yield f"d_k = {attention.d_k} and d_v = {attention.d_v}, not d_model / num_heads"
    if attention.score.kind != "dot" or not attention.score.scaled:
        yield f'score = "{attention.score.kind}", not "scaled_dot"'
    if attention.score.window is not None:
        yield "attention is restricted to a window"
    if attention.rotary is not None:
        yield 'positions = "rotary", not "sinusoidal_concatenated"'


def _size_faults(described: EncoderDecoderSpec, d_model: int) -> Iterator[str]:
    widths = {len(layer.feed_forward.w_1.weight) for layer in described.layers}
    if len(widths) > 1:
        yield "feed-forward networks differ in width"
    for name, size in (("d_model", d_model), ("d_ff", min(widths))):
        if size % MULTIPLE:
            yield f"{name} = {size}, not a multiple of {MULTIPLE}"
    cells = [layer.cell for layer in described.decoder.layers if isinstance(layer, RecurrentDecoderLayerSpec)]
    if any(cell.w.bias is not None for cell in cells):
        yield "the SSRU's W has a bias"
