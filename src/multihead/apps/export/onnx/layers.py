"""The Transformer's layers as nodes of an ONNX graph; equations and names as in ``nn``.

Shape legend as in ``batch.py``; L layers, D slots of the decoder's cache. In search, R rows may share one
sentence: then its keys and values have one row, and are broadcast.
"""

import numpy as np

from multihead.apps.export.onnx.graph import Graph
from multihead.description import (
    AttentionSpec,
    DecoderLayerSpec,
    FeedForwardSpec,
    LinearSpec,
    NormSpec,
    RecurrentDecoderLayerSpec,
    ResidualSpec,
    SSRUSpec,
)
from multihead.engines.native.parts import keys_of_every_head

Cache = tuple[str, ...]
"""Keys and values of the target, (R, H, D, d_k) and (R, H, D, d_v); or the state of an SSRU, (R, d)."""


def linear(graph: Graph, x: str, spec: LinearSpec, scale: float = 1.0) -> str:
    """(x W^T + b) times a factor."""
    factor = np.float32(scale)
    out = graph.add("MatMul", x, graph.weight(np.ascontiguousarray(spec.weight.T * factor)))
    return out if spec.bias is None else graph.add("Add", out, graph.weight(spec.bias * factor))


def norm(graph: Graph, x: str, spec: NormSpec) -> str:
    """Layer normalisation."""
    weights = graph.weight(spec.weight), graph.weight(spec.bias)
    return graph.add("LayerNormalization", x, *weights, axis=-1, epsilon=float(spec.epsilon))


def before(graph: Graph, x: str, around: ResidualSpec) -> str:
    """The input of a sublayer: normalised if pre-norm."""
    return norm(graph, x, around.norm) if around.kind == "pre" else x


def after(graph: Graph, x: str, out: str, around: ResidualSpec) -> str:
    """The sum of a sublayer's input and output: normalised if post-norm."""
    total = graph.add("Add", x, out)
    return norm(graph, total, around.norm) if around.kind == "post" else total


def feed_forward(graph: Graph, x: str, spec: FeedForwardSpec) -> str:
    """activation(x W_1 + b_1) W_2 + b_2."""
    return linear(graph, _activate(graph, linear(graph, x, spec.w_1), spec.activation), spec.w_2)


def _activate(graph: Graph, x: str, activation: str) -> str:
    if activation == "relu":
        return graph.add("Relu", x)
    if activation == "silu":
        return graph.add("Mul", x, graph.add("Sigmoid", x))
    if activation == "gelu":
        inner = graph.add("Erf", graph.add("Mul", x, graph.number(0.5**0.5)))
    else:  # gelu_tanh
        cubed = graph.add("Mul", graph.add("Mul", graph.add("Mul", x, x), x), graph.number(0.044715))
        scaled = graph.add("Mul", graph.add("Add", x, cubed), graph.number((2 / np.pi) ** 0.5))
        inner = graph.add("Tanh", scaled)
    share = graph.add("Mul", graph.add("Add", inner, graph.number(1.0)), graph.number(0.5))
    return graph.add("Mul", x, share)


def heads(graph: Graph, x: str, count: int, width: int) -> str:
    """(B, N, H * d) to (B, H, N, d)."""
    return graph.add("Transpose", graph.reshape(x, 0, 0, count, width), perm=[0, 2, 1, 3])


def keys_values(graph: Graph, x: str, spec: AttentionSpec) -> tuple[str, str]:
    """Keys and values of every head, (B, H, N, d_k) and (B, H, N, d_v)."""
    w_k, w_v = keys_of_every_head(spec)
    keys = heads(graph, linear(graph, x, w_k), spec.heads, spec.d_k)
    return keys, heads(graph, linear(graph, x, w_v), spec.heads, spec.d_v)


def attention(graph: Graph, x: str, spec: AttentionSpec, keys: str, values: str, bias: str | None) -> str:
    """Softmax(q k^T * scale + bias) v, then W^O."""
    queries = heads(graph, linear(graph, x, spec.w_q, spec.scale), spec.heads, spec.d_k)
    scores = graph.add("MatMul", queries, graph.add("Transpose", keys, perm=[0, 1, 3, 2]))
    if bias is not None:
        scores = graph.add("Add", scores, bias)
    mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), values)
    joined = graph.add("Transpose", mixed, perm=[0, 2, 1, 3])
    return linear(graph, graph.reshape(joined, 0, 0, spec.heads * spec.d_v), spec.w_o)


def decoder_layer(
    graph: Graph,
    x: str,
    layer: DecoderLayerSpec | RecurrentDecoderLayerSpec,
    cache: Cache,
    source: tuple[str, str],
    bias: str,
) -> tuple[str, Cache]:
    """One position of a decoder layer, (R, 1, d), and the cache with it."""
    inputs = before(graph, x, layer.around_self)
    if isinstance(layer, RecurrentDecoderLayerSpec):
        out, cache = _recurrent(graph, inputs, layer.cell, cache[0])
    else:
        new = keys_values(graph, inputs, layer.self_attention)
        cache = tuple(graph.add("Concat", old, part, axis=2) for old, part in zip(cache, new, strict=True))
        out = attention(graph, inputs, layer.self_attention, cache[0], cache[1], None)
    x = after(graph, x, out, layer.around_self)
    inputs = before(graph, x, layer.around_cross)
    x = after(graph, x, attention(graph, inputs, layer.cross_attention, *source, bias), layer.around_cross)
    inputs = before(graph, x, layer.around_feed_forward)
    return after(graph, x, feed_forward(graph, inputs, layer.feed_forward), layer.around_feed_forward), cache


def _recurrent(graph: Graph, x: str, cell: SSRUSpec, state: str) -> tuple[str, Cache]:
    """ReLU(c_t), c_t = f c_(t-1) + (1 - f) x W (``nn.ssru``)."""
    past = graph.add("Unsqueeze", state, graph.integers(1))
    forget = graph.add("Sigmoid", linear(graph, x, cell.w_f))
    update = linear(graph, x, cell.w)
    scaled = graph.add("Mul", forget, graph.add("Sub", past, update))
    state = graph.add("Add", scaled, update)  # f c + (1 - f) u = f (c - u) + u
    return graph.add("Relu", state), (graph.add("Squeeze", state, graph.integers(1)),)
