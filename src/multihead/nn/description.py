"""Descriptions of layers: everything that an engine or an export may rely on, weights included.

A module describes itself in a method ``describe``. An engine accepts a description or declines it with a
reason; it never checks a class. Only a class's own method counts: a subclass that computes something else and
does not describe itself is never mistaken for its parent.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

S = TypeVar("S")


class UndescribedError(Exception):
    """A module has no description; the message is the reason, in one line."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearSpec:
    """x W^T + b; ``weight`` is (e, d), ``bias`` (e,) or None."""

    weight: Tensor
    bias: Tensor | None


@dataclass(frozen=True, slots=True, eq=False)
class NormSpec:
    """Layer normalisation over the last axis; ``weight`` and ``bias`` are (d,)."""

    weight: Tensor
    bias: Tensor
    epsilon: float


@dataclass(frozen=True, slots=True, eq=False)
class RotarySpec:
    """Rotary positions over the whole width of a head (Su et al. 2021)."""

    base: float


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """The window of restricted self-attention (Vaswani et al. 2017, sec. 4; Beltagy et al. 2020, sec. 3.1).

    Attributes:
        before: positions before its own that a position attends to.
        after: positions after it; 0: causal attention.
        dilation: distance between neighbouring positions of the window.
        places: global positions, which attend to every position and to which every one attends.
    """

    before: int
    after: int
    dilation: int = 1
    places: tuple[int, ...] = ()

    @property
    def causal(self) -> bool:
        """True if no position attends to a later one."""
        return self.after == 0

    @property
    def reach(self) -> int | None:
        """Positions back that a causal step can attend to; None: all, because some positions are global."""
        return None if self.places else self.before * self.dilation


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSpec:
    """The score function: q . k, divided by sqrt(d_k) if ``scaled``; less a distance; or v . tanh(q + k).

    Attributes:
        kind: dot product, additive, or dot product with linear biases.
        scaled: whether it is divided by sqrt(d_k).
        v: the vector of the additive score.
        window: the keys that a query sees; None: all that the mask allows.
    """

    kind: Literal["dot", "additive", "linear biases"]
    scaled: bool
    v: Tensor | None = None
    window: WindowSpec | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AttentionSpec:
    """Multi-head attention; H / G query heads share each of the G key/value heads.

    Raises:
        UndescribedError: a matrix's shape contradicts the numbers of heads and their widths.
    """

    heads: int
    kv_heads: int
    d_k: int
    d_v: int
    score: ScoreSpec
    w_q: LinearSpec
    w_k: LinearSpec
    w_v: LinearSpec
    w_o: LinearSpec
    rotary: RotarySpec | None = None

    def __post_init__(self) -> None:
        d_model = self.w_o.weight.shape[0]
        wanted = {
            "w_q": (self.heads * self.d_k, d_model),
            "w_k": (self.kv_heads * self.d_k, d_model),
            "w_v": (self.kv_heads * self.d_v, d_model),
            "w_o": (d_model, self.heads * self.d_v),
        }
        for name, shape in wanted.items():
            found = tuple(getattr(self, name).weight.shape)
            if found != shape:
                raise UndescribedError(f"attention: {name} is {found}, its description says {shape}")

    @property
    def scale(self) -> float:
        """The factor of q . k."""
        return self.d_k**-0.5 if self.score.scaled else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class FeedForwardSpec:
    """activation(x W_1 + b_1) W_2 + b_2, or gated, (act(x W_g) * x W_1) W_2, as "swiglu" or "geglu"."""

    activation: str
    w_1: LinearSpec
    w_2: LinearSpec
    gate: LinearSpec | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ResidualSpec:
    """Norm(x + Sublayer(x)), "post", or x + Sublayer(Norm(x)), "pre"."""

    kind: Literal["post", "pre"]
    norm: NormSpec


@dataclass(frozen=True, slots=True, eq=False)
class EncoderLayerSpec:
    """Self-attention, then feed-forward, each inside its residual connection."""

    self_attention: AttentionSpec
    feed_forward: FeedForwardSpec
    around_attention: ResidualSpec
    around_feed_forward: ResidualSpec

    @property
    def residuals(self) -> tuple[ResidualSpec, ...]:
        """The residual connections in the order of their sublayers."""
        return self.around_attention, self.around_feed_forward


@dataclass(frozen=True, slots=True, eq=False)
class DecoderLayerSpec:
    """Self-attention, attention over the source, feed-forward, each inside its residual connection."""

    self_attention: AttentionSpec
    cross_attention: AttentionSpec
    feed_forward: FeedForwardSpec
    around_self: ResidualSpec
    around_cross: ResidualSpec
    around_feed_forward: ResidualSpec

    @property
    def residuals(self) -> tuple[ResidualSpec, ...]:
        """The residual connections in the order of their sublayers."""
        return self.around_self, self.around_cross, self.around_feed_forward


@dataclass(frozen=True, slots=True, eq=False)
class SSRUSpec:
    """ReLU(c_t), c_t = f_t c_(t-1) + (1 - f_t) x_t W, f_t = sigmoid(x_t W_f + b_f) (Kim et al. 2019)."""

    w: LinearSpec
    w_f: LinearSpec


@dataclass(frozen=True, slots=True, eq=False)
class RecurrentDecoderLayerSpec:
    """A recurrent cell, attention over the source, feed-forward, each inside its residual connection."""

    cell: SSRUSpec
    cross_attention: AttentionSpec
    feed_forward: FeedForwardSpec
    around_self: ResidualSpec
    around_cross: ResidualSpec
    around_feed_forward: ResidualSpec

    @property
    def residuals(self) -> tuple[ResidualSpec, ...]:
        """The residual connections in the order of their sublayers."""
        return self.around_self, self.around_cross, self.around_feed_forward


@dataclass(frozen=True, slots=True, eq=False)
class StackSpec:
    """A stack of layers, and its final norm (None: none)."""

    layers: tuple[Any, ...]
    norm: NormSpec | None


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingSpec:
    """scale * weight[ids]; ``weight`` is (V, d)."""

    weight: Tensor
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class PositionsSpec:
    """Positional encodings that are added to the embeddings.

    Attributes:
        kind: "sinusoidal", "sinusoidal_concatenated", "learned" or "none".
        encodings: ``encodings(n)`` returns at least the first n rows, (any, d); None: nothing is added.
        weight: the learned encodings; None unless they are learned.
    """

    kind: Literal["sinusoidal", "sinusoidal_concatenated", "learned", "none"]
    encodings: Callable[[int], Tensor | None]
    weight: Tensor | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EncoderDecoderSpec:
    """An encoder-decoder from source ids to logits of the next target id (Vaswani et al. 2017, figure 1).

    Attributes:
        source: embedding of the source.
        source_positions: added to it.
        target: embedding of the target.
        target_positions: added to it.
        encoder: its layers, each an ``EncoderLayerSpec``.
        decoder: its layers, each a ``DecoderLayerSpec`` or a ``RecurrentDecoderLayerSpec``.
        output: the output layer.
        window: width of the window of restricted self-attention; 0: unrestricted.
        first_input: the decoder's first input, before positions are added: the begin symbol's embedding
            ("begin"), or zero whatever the symbol ("zero").
    """

    source: EmbeddingSpec
    source_positions: PositionsSpec
    target: EmbeddingSpec
    target_positions: PositionsSpec
    encoder: StackSpec
    decoder: StackSpec
    output: LinearSpec
    window: int = 0
    first_input: Literal["begin", "zero"] = "begin"

    @property
    def recurrent(self) -> bool:
        """True if a decoder layer has a recurrent cell in the place of self-attention."""
        return any(isinstance(layer, RecurrentDecoderLayerSpec) for layer in self.decoder.layers)

    @property
    def attentions(self) -> tuple[AttentionSpec, ...]:
        """Every attention of every layer."""
        own = [
            layer.self_attention
            for layer in (*self.encoder.layers, *self.decoder.layers)
            if not isinstance(layer, RecurrentDecoderLayerSpec)
        ]
        return (*own, *(layer.cross_attention for layer in self.decoder.layers))

    @property
    def smallest_vocabulary(self) -> int:
        """The size of the smaller vocabulary."""
        return min(len(self.source.weight), len(self.target.weight))

    @property
    def layers(self) -> tuple[EncoderLayerSpec | DecoderLayerSpec | RecurrentDecoderLayerSpec, ...]:
        """Every layer, the encoder's first."""
        return (*self.encoder.layers, *self.decoder.layers)


@dataclass(frozen=True, slots=True, eq=False)
class CausalSpec:
    """A decoder without an encoder, from ids to logits of the next id (Radford et al. 2018).

    Attributes:
        embedding: embedding of the ids.
        positions: added to it.
        stack: its layers, each an ``EncoderLayerSpec``, under a causal mask.
        output: the output layer.
        context: number of positions; without positions, of those that each token attends to.
    """

    embedding: EmbeddingSpec
    positions: PositionsSpec
    stack: StackSpec
    output: LinearSpec
    context: int


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
    found = method(module)
    if not isinstance(found, kind):
        wanted = getattr(kind, "__name__", str(kind))
        raise UndescribedError(f"{name} is described as {type(found).__name__}, not {wanted}")
    known = {id(tensor) for tensor in _tensors(found)}
    unknown = [path for path, parameter in module.named_parameters() if id(parameter) not in known]
    if unknown:
        raise UndescribedError(f"{name} has a parameter that its description does not mention: {unknown[0]}")
    return found


def linear(module: nn.Module) -> LinearSpec:
    """Return the description of a plain linear layer.

    Raises:
        UndescribedError: it is another class, or has a hook.
    """
    if type(module) is nn.Linear or "linear_spec" in vars(type(module)):
        _refuse_changed(module)
        return LinearSpec(module.weight, module.bias)  # type: ignore[arg-type]
    raise UndescribedError(f"{type(module).__name__} is not a plain linear layer")


def norm(module: nn.Module) -> NormSpec | None:
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
    hooked = module._forward_hooks or module._forward_pre_hooks
    if hooked or "forward" in vars(module):
        change = "a hook" if hooked else "a replaced forward"
        raise UndescribedError(f"{type(module).__name__} has {change}")


def _tensors(spec: object) -> Iterator[Tensor]:
    if isinstance(spec, torch.Tensor):
        yield spec
    elif isinstance(spec, tuple):
        for part in spec:
            yield from _tensors(part)
    elif is_dataclass(spec):
        for field in fields(spec):
            yield from _tensors(getattr(spec, field.name))
