"""A model's description as JSON, with the names of its weights; read again without PyTorch.

What is read may come from anywhere, and the kernels take addresses: every shape is compared with what the
kernels will read.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from multihead import description
from multihead.description import (
    AttentionSpec,
    EncoderDecoderSpec,
    LinearSpec,
    NormSpec,
    RecurrentDecoderLayerSpec,
    UndescribedError,
)
from multihead.engines.native.positions import encodings_of
from multihead.system.native_library import Array

_KINDS: dict[str, Any] = {
    name: kind for name, kind in vars(description).items() if name.endswith("Spec") and is_dataclass(kind)
}


def spec_to_json(spec: object, names: Mapping[int, str]) -> Any:
    """Return a description in values that JSON has.

    Args:
        spec: a description.
        names: the weights' names, by ``id``.

    Raises:
        ValueError: a weight has no name.
    """
    if isinstance(spec, tuple):
        return [spec_to_json(part, names) for part in spec]
    if is_dataclass(spec):
        parts = {
            field.name: spec_to_json(value, names)
            for field in fields(spec)
            if not callable(value := getattr(spec, field.name)) or hasattr(value, "shape")
        }
        return {"is": type(spec).__name__, **parts}
    if spec is None or isinstance(spec, str | int | float):
        return spec
    if id(spec) not in names:
        raise ValueError("a weight that is computed, and not one of the model's own")
    return {"weight": names[id(spec)]}


def spec_from_json(content: Any, weights: Mapping[str, Array]) -> EncoderDecoderSpec:
    """Return the description that :func:`spec_to_json` wrote.

    Args:
        content: what it returned.
        weights: float32 arrays by name.

    Raises:
        ValueError: it does not describe an encoder-decoder with these weights.
    """
    try:
        spec = _decode(content, weights)
        if not isinstance(spec, EncoderDecoderSpec):
            raise ValueError("not an encoder-decoder")
        _check(spec)
    except (KeyError, TypeError, AttributeError, IndexError, UndescribedError, RecursionError) as error:
        raise ValueError(f"not a description of these weights ({error!r})") from None
    return spec


def _decode(content: Any, weights: Mapping[str, Array]) -> Any:
    if isinstance(content, list):
        return tuple(_decode(part, weights) for part in content)
    if not isinstance(content, dict):
        return content
    if content.keys() == {"weight"}:
        return weights[content["weight"]]
    parts = {name: _decode(value, weights) for name, value in content.items() if name != "is"}
    if content["is"] == "PositionsSpec":
        parts["encodings"] = None  # they need the width, and are made with the whole
    if content["is"] == "EncoderDecoderSpec":
        width = parts["source"].weight.shape[1]
        for side in ("source_positions", "target_positions"):
            positions = parts[side]
            encodings = encodings_of(positions.kind, width, positions.weight)
            parts[side] = description.PositionsSpec(positions.kind, encodings, positions.weight)
    return _KINDS[content["is"]](**parts)


def _check(spec: EncoderDecoderSpec) -> None:
    """Compare every shape with what the kernels read. Raises ``ValueError``."""
    d = spec.source.weight.shape[1]
    tables = [spec.source.weight, spec.target.weight, spec.output.weight]
    tables += [
        positions.weight
        for positions in (spec.source_positions, spec.target_positions)
        if positions.weight is not None
    ]
    for table in tables:
        _shape(table, (len(table), d))
    _linear(spec.output, d, len(spec.target.weight))
    for number in (spec.source.scale, spec.target.scale):
        _number(number, float | int)
    _number(spec.window, int)
    for stack in (spec.encoder, spec.decoder):
        if stack.norm is not None:
            _norm(stack.norm, d)
    for attention in spec.attentions:
        _attention(attention, d)
    for layer in spec.layers:
        inner = layer.feed_forward.w_1.weight.shape[0]
        _linear(layer.feed_forward.w_1, d, inner)
        _linear(layer.feed_forward.w_2, inner, d)
        for residual in layer.residuals:
            _norm(residual.norm, d)
        if isinstance(layer, RecurrentDecoderLayerSpec):
            _linear(layer.cell.w, d, d)
            _linear(layer.cell.w_f, d, d)


def _attention(spec: AttentionSpec, d: int) -> None:
    for number in (spec.heads, spec.kv_heads, spec.d_k, spec.d_v):
        _number(number, int)
        if number < 1:
            raise ValueError("a width below 1")
    if spec.heads % spec.kv_heads:
        raise ValueError(f"{spec.heads} heads in {spec.kv_heads} groups")
    if spec.score.window is not None:
        for number in (spec.score.window.before, spec.score.window.after, spec.score.window.dilation):
            _number(number, int)
    _linear(spec.w_q, d, spec.heads * spec.d_k)
    _linear(spec.w_k, d, spec.kv_heads * spec.d_k)
    _linear(spec.w_v, d, spec.kv_heads * spec.d_v)
    _linear(spec.w_o, spec.heads * spec.d_v, d)


def _linear(spec: LinearSpec, inputs: int, outputs: int) -> None:
    _shape(spec.weight, (outputs, inputs))
    if spec.bias is not None:
        _shape(spec.bias, (outputs,))


def _norm(spec: NormSpec, d: int) -> None:
    _shape(spec.weight, (d,))
    _shape(spec.bias, (d,))
    _number(spec.epsilon, float | int)


def _shape(weight: Array, shape: tuple[int, ...]) -> None:
    if weight.shape != shape or weight.dtype != np.float32 or not all(shape):
        raise ValueError(f"a weight of shape {weight.shape}, not {shape}")


def _number(value: object, kind: Any) -> None:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{value!r} is not a number of the right kind")
