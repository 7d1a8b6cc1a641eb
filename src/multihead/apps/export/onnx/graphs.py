"""The two graphs of an encoder-decoder: the encoder, and one step of the decoder.

``encoder.onnx``: ids (B, S) and mask (B, S), 1 at real tokens -> source_keys and source_values of every
decoder layer, (L, B, H, S, d_k) and (L, B, H, S, d_v).

``decoder.onnx``: token (R), position (1), mask, source_keys and source_values (of R sentences, or of one
that all rows share), past_* -> logits (R, V) of the next token, next_*. past_* is empty before the first
step, then the next_* of the surviving rows: keys and values (L, R, H, D, d), or the state (L, R, d) of an
SSRU, first 0.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from multihead.apps.export.onnx import layers
from multihead.apps.export.onnx.graph import OPSET, Array, Graph
from multihead.description import EmbeddingSpec, EncoderDecoderSpec, PositionsSpec

__all__ = ["OPSET", "cache_shapes", "decoder", "encoder", "not_expressible"]


def not_expressible(described: EncoderDecoderSpec) -> list[str]:
    """Return the properties of a model that these graphs cannot express; empty if there are none."""
    return list(dict.fromkeys(_faults(described)))


def _faults(described: EncoderDecoderSpec) -> Iterator[str]:
    if described.window:
        yield f"window = {described.window}"
    for attention in described.attentions:
        if attention.score.kind != "dot":
            yield f"score = {attention.score.kind}"
        if attention.rotary is not None:
            yield "rotary positions"
    sizes = {(spec.heads, spec.d_k, spec.d_v) for spec in described.attentions}
    if len(sizes) > 1:
        yield "attentions differ in heads or widths"
    kinds = {type(layer) for layer in described.decoder.layers}
    if len(kinds) > 1:
        yield "some decoder layers are recurrent and others not"
    for layer in described.layers:
        if layer.feed_forward.activation not in ("relu", "gelu", "gelu_tanh", "silu"):
            yield f"activation = {layer.feed_forward.activation}"


def encoder(described: EncoderDecoderSpec, longest: int, metadata: dict[str, str]) -> Any:
    """Return the encoder's ``onnx.ModelProto``; ``described`` has NumPy arrays, ``longest`` in tokens."""
    graph = Graph("encoder")
    ids, bias = graph.input("ids", np.int64, ("sentences", "source")), _source_bias(graph)
    x = _embed(graph, described.source, ids)
    table = _table(described.source_positions, longest)
    if table is not None:
        length = graph.add("Shape", ids, start=1, end=2)
        rows = graph.add("Slice", graph.weight(table), graph.integers(0), length, graph.integers(0))
        x = graph.add("Add", x, rows)
    for layer in described.encoder.layers:
        inputs = layers.before(graph, x, layer.around_attention)
        keys, values = layers.keys_values(graph, inputs, layer.self_attention)
        out = layers.attention(graph, inputs, layer.self_attention, keys, values, bias)
        x = layers.after(graph, x, out, layer.around_attention)
        inputs = layers.before(graph, x, layer.around_feed_forward)
        out = layers.feed_forward(graph, inputs, layer.feed_forward)
        x = layers.after(graph, x, out, layer.around_feed_forward)
    if described.encoder.norm is not None:
        x = layers.norm(graph, x, described.encoder.norm)
    attentions = [layer.cross_attention for layer in described.decoder.layers]
    pairs = [layers.keys_values(graph, x, attention) for attention in attentions]
    for name, parts, width in zip(("keys", "values"), zip(*pairs, strict=True), ("d_k", "d_v"), strict=True):
        axes = (len(pairs), "sentences", attentions[0].heads, "source", getattr(attentions[0], width))
        graph.output(_stack(graph, parts), f"source_{name}", np.float32, axes)
    return graph.model(metadata)


def decoder(described: EncoderDecoderSpec, longest: int, metadata: dict[str, str]) -> Any:
    """Return the ``onnx.ModelProto`` of a decoder step; arguments as for :func:`encoder`."""
    graph, attention = Graph("decoder"), described.decoder.layers[0].cross_attention
    count = len(described.decoder.layers)
    token, position = graph.input("token", np.int64, ("rows",)), graph.input("position", np.int64, (1,))
    bias = _source_bias(graph)
    source = [
        graph.input(f"source_{name}", np.float32, (count, "sentences", attention.heads, "source", width))
        for name, width in (("keys", attention.d_k), ("values", attention.d_v))
    ]
    shapes = cache_shapes(described, "rows", "past")
    past = [graph.input(f"past_{name}", np.float32, shape) for name, shape in shapes.items()]
    x = _embed(graph, described.target, graph.add("Unsqueeze", token, graph.integers(1)))
    if described.first_input == "zero":
        x = graph.add("Where", graph.add("Equal", position, graph.integers(0)), graph.number(0.0), x)
    table = _table(described.target_positions, longest)
    if table is not None:
        x = graph.add("Add", x, graph.add("Gather", graph.weight(table), position, axis=0))
    caches: list[layers.Cache] = []
    for number, layer in enumerate(described.decoder.layers):
        of_layer = [_layer(graph, value, number) for value in (*past, *source)]
        layer_past, of_source = tuple(of_layer[: len(past)]), (of_layer[-2], of_layer[-1])
        x, cache = layers.decoder_layer(graph, x, layer, layer_past, of_source, bias)
        caches.append(cache)
    if described.decoder.norm is not None:
        x = layers.norm(graph, x, described.decoder.norm)
    # Not transposed beforehand: tied to the embeddings, it is stored once.
    logits = graph.add(
        "MatMul", x, graph.add("Transpose", graph.weight(described.output.weight), perm=[1, 0])
    )
    if described.output.bias is not None:
        logits = graph.add("Add", logits, graph.weight(described.output.bias))
    logits = graph.add("Squeeze", logits, graph.integers(1))
    graph.output(logits, "logits", np.float32, ("rows", len(described.output.weight)))
    for parts, (name, shape) in zip(
        zip(*caches, strict=True), cache_shapes(described, "rows", "next").items(), strict=True
    ):
        graph.output(_stack(graph, parts), f"next_{name}", np.float32, shape)
    return graph.model(metadata)


def cache_shapes(described: EncoderDecoderSpec, rows: Any, slots: Any) -> dict[str, tuple[Any, ...]]:
    """Return the shape of each of the decoder's caches, by name."""
    count, width = len(described.decoder.layers), described.target.weight.shape[1]
    if described.recurrent:
        return {"state": (count, rows, width)}
    spec = described.decoder.layers[0].self_attention
    return {
        "keys": (count, rows, spec.heads, slots, spec.d_k),
        "values": (count, rows, spec.heads, slots, spec.d_v),
    }


def _source_bias(graph: Graph) -> str:
    """0 at real tokens of the source, -infinity at padding, (B, 1, 1, S)."""
    mask = graph.input("mask", np.int64, ("sentences", "source"))
    padding = graph.add("Equal", mask, graph.integers(0))
    bias = graph.add("Where", padding, graph.number(-np.inf), graph.number(0.0))
    return graph.add("Unsqueeze", bias, graph.integers(1, 2))


def _embed(graph: Graph, spec: EmbeddingSpec, ids: str) -> str:
    return graph.add(
        "Mul", graph.add("Gather", graph.weight(spec.weight), ids, axis=0), graph.number(spec.scale)
    )


def _table(positions: PositionsSpec, longest: int) -> Array | None:
    table = positions.encodings(longest)
    return None if table is None else np.ascontiguousarray(table[:longest], np.float32)


def _stack(graph: Graph, parts: tuple[str, ...]) -> str:
    return graph.add("Concat", *(graph.add("Unsqueeze", part, graph.integers(0)) for part in parts), axis=0)


def _layer(graph: Graph, value: str, number: int) -> str:
    """One layer's part of a cache."""
    return graph.add("Squeeze", graph.add("Gather", value, graph.integers(number), axis=0), graph.integers(0))
