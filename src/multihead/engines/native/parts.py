"""Parts of a model in the native kernels' formats, as NumPy arrays."""

import numpy as np

from multihead.description import AttentionSpec, EmbeddingSpec, EncoderDecoderSpec, LinearSpec, NormSpec
from multihead.system.native_library import Array


def stack_layers(*parts: LinearSpec, first: float = 1.0) -> tuple[Array, Array | None]:
    """The layers' weights and biases stacked, the first layer's multiplied by a factor."""
    factors = np.array([first, *(1.0 for _ in parts[1:])], np.float32)
    weight = np.concatenate([part.weight * factor for part, factor in zip(parts, factors, strict=True)])
    if all(part.bias is None for part in parts):
        return weight, None
    biases = [np.zeros(len(part.weight), np.float32) if part.bias is None else part.bias for part in parts]
    return weight, np.concatenate([bias * factor for bias, factor in zip(biases, factors, strict=True)])


def keys_of_every_head(attention: AttentionSpec) -> tuple[LinearSpec, LinearSpec]:
    """W^K and W^V with the rows of a shared key/value head repeated for each query head of its group."""
    group = attention.heads // attention.kv_heads

    def repeated(part: LinearSpec) -> LinearSpec:
        def of(rows: Array) -> Array:
            by_head = rows.reshape(attention.kv_heads, -1, *rows.shape[1:])
            return by_head.repeat(group, axis=0).reshape(-1, *rows.shape[1:])

        return LinearSpec(of(part.weight), None if part.bias is None else of(part.bias))

    if group == 1:
        return attention.w_k, attention.w_v
    return repeated(attention.w_k), repeated(attention.w_v)


def layer_norm(x: Array, norm: NormSpec) -> Array:
    """Normalise the last axis (Ba et al. 2016)."""
    centred = x - x.mean(-1, keepdims=True)
    variance = np.square(centred).mean(-1, keepdims=True)
    normal: Array = centred / np.sqrt(variance + np.float32(norm.epsilon)) * norm.weight + norm.bias
    return normal


def scaled_embedding(spec: EmbeddingSpec) -> Array:
    """scale * weight, (V, d)."""
    scaled: Array = spec.weight * np.float32(spec.scale)
    return scaled


def target_embedding(spec: EncoderDecoderSpec) -> tuple[Array, int | None]:
    """The scaled target embeddings, (V, d), and the row of the first input; None: the begin symbol's row.

    If the first input is zero, row V holds it.
    """
    table_Vd = scaled_embedding(spec.target)
    if spec.first_input == "begin":
        return table_Vd, None
    return np.pad(table_Vd, ((0, 1), (0, 0))), len(table_Vd)
