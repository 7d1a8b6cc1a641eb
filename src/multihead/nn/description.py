"""A module's own description (``multihead.description``), and its refusals.

A module describes itself in a method ``describe``. An engine accepts a description or declines it with a
reason; it never checks a class. Only a class's own method counts: a subclass that computes something else and
does not describe itself is never mistaken for its parent.
"""

from types import UnionType
from typing import TypeVar

from torch import Tensor, nn

from multihead.description import (
    AttentionSpec,
    CausalSpec,
    DecoderLayerSpec,
    EmbeddingSpec,
    EncoderDecoderSpec,
    EncoderLayerSpec,
    FeedForwardSpec,
    ImageSpec,
    LinearSpec,
    MaskedSpec,
    NormSpec,
    PositionsSpec,
    RecurrentDecoderLayerSpec,
    ResidualSpec,
    RotarySpec,
    ScoreSpec,
    SSRUSpec,
    StackSpec,
    UndescribedError,
    WindowSpec,
    values,
)
from multihead.nn.modules import change

__all__ = [
    "AttentionSpec",
    "CausalSpec",
    "DecoderLayerSpec",
    "EmbeddingSpec",
    "EncoderDecoderSpec",
    "EncoderLayerSpec",
    "FeedForwardSpec",
    "ImageSpec",
    "LinearSpec",
    "MaskedSpec",
    "NormSpec",
    "PositionsSpec",
    "RecurrentDecoderLayerSpec",
    "ResidualSpec",
    "RotarySpec",
    "SSRUSpec",
    "ScoreSpec",
    "StackSpec",
    "UndescribedError",
    "WindowSpec",
    "describe",
    "describe_linear",
    "describe_norm",
]

S = TypeVar("S")


def describe(module: nn.Module, kind: type[S] | UnionType) -> S:
    """Return a module's own description.

    Args:
        module: a part of a model, or a model.
        kind: the expected class of description, or a union of several.

    Raises:
        UndescribedError: the module's class has no ``describe`` of its own, the module has a hook, a replaced
            ``forward`` or a parameter that the description does not mention, or the description is of another
            kind.
    """
    name = type(module).__name__
    method = vars(type(module)).get("describe")
    if method is None:
        inherited = hasattr(type(module), "describe")
        why = "inherits a description and has none of its own" if inherited else "does not describe itself"
        raise UndescribedError(f"{name} {why}")
    _refuse_changed(module)
    spec = method(module)
    if not isinstance(spec, kind):
        expected = getattr(kind, "__name__", str(kind))
        raise UndescribedError(f"{name} is described as {type(spec).__name__}, not {expected}")
    described = {id(value) for value in values(spec) if isinstance(value, Tensor)}
    unknown = [path for path, parameter in module.named_parameters() if id(parameter) not in described]
    if unknown:
        raise UndescribedError(f"{name} has a parameter that its description does not mention: {unknown[0]}")
    return spec


def describe_linear(module: nn.Module) -> LinearSpec:
    """Return the description of a plain linear layer.

    Raises:
        UndescribedError: it is another class, or has a hook.
    """
    if type(module) is nn.Linear or "linear_spec" in vars(type(module)):
        _refuse_changed(module)
        return LinearSpec(module.weight, module.bias)
    raise UndescribedError(f"{type(module).__name__} is not a plain linear layer")


def describe_norm(module: nn.Module) -> NormSpec | None:
    """Return the description of a layer norm; None for ``nn.Identity``.

    Raises:
        UndescribedError: it is of another class, normalises several axes, lacks a parameter, or has a hook.
    """
    _refuse_changed(module)
    if type(module) is nn.Identity:
        return None
    plain = type(module) is nn.LayerNorm or "layer_norm_spec" in vars(type(module))
    if not (plain and isinstance(module, nn.LayerNorm)):
        raise UndescribedError(f"{type(module).__name__} is not a layer norm")
    if len(module.normalized_shape) != 1 or module.weight is None or module.bias is None:
        raise UndescribedError("a layer norm over several axes, or without weight or bias")
    return NormSpec(module.weight, module.bias, module.eps)


def _refuse_changed(module: nn.Module) -> None:
    if (reason := change(module)) is not None:
        raise UndescribedError(f"{type(module).__name__} has {reason}")
