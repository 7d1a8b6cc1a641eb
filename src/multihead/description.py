"""Descriptions of layers: everything that an engine or an export may rely on, weights included.

Weights are tensors if a module describes itself (``nn.description``), and NumPy arrays where the native
kernels compute, also without PyTorch (``engines.native``).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, TypeVar

Weight = Any
"""A tensor or an array; both have a shape."""
Spec = TypeVar("Spec")


class UndescribedError(Exception):
    """A module has no description; the message is the reason, in one line."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearSpec:
    """x W^T + b; ``weight`` is (e, d), ``bias`` (e,) or None."""

    weight: Weight
    bias: Weight | None


@dataclass(frozen=True, slots=True, eq=False)
class NormSpec:
    """Layer normalisation over the last axis; ``weight`` and ``bias`` are (d,)."""

    weight: Weight
    bias: Weight
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
    v: Weight | None = None
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
        shapes = {
            "w_q": (self.heads * self.d_k, d_model),
            "w_k": (self.kv_heads * self.d_k, d_model),
            "w_v": (self.kv_heads * self.d_v, d_model),
            "w_o": (d_model, self.heads * self.d_v),
        }
        for name, shape in shapes.items():
            actual = tuple(getattr(self, name).weight.shape)
            if actual != shape:
                raise UndescribedError(f"attention: {name} is {actual}, its description says {shape}")

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

    weight: Weight
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
    encodings: Callable[[int], Weight | None]
    weight: Weight | None = None


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
        self_attentions = [
            layer.self_attention
            for layer in (*self.encoder.layers, *self.decoder.layers)
            if not isinstance(layer, RecurrentDecoderLayerSpec)
        ]
        return (*self_attentions, *(layer.cross_attention for layer in self.decoder.layers))

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


@dataclass(frozen=True, slots=True, eq=False)
class MaskedSpec:
    """An encoder from ids to logits of every id, for masked tokens (Devlin et al. 2019).

    Attributes:
        embedding: embedding of the ids.
        segments: (2, d), added to it: a row for each of two texts.
        positions: added to it.
        embedding_norm: norm of the sum.
        stack: its layers, each an ``EncoderLayerSpec``.
        transform: the hidden layer before the output.
        activation: its activation.
        transform_norm: its norm.
        output: the output layer.
        beside: layers that the masked tokens do not need: pooling, next sentence prediction.
    """

    embedding: EmbeddingSpec
    segments: Weight
    positions: PositionsSpec
    embedding_norm: NormSpec
    stack: StackSpec
    transform: LinearSpec
    activation: str
    transform_norm: NormSpec
    output: LinearSpec
    beside: tuple[LinearSpec, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ImageSpec:
    """An encoder from the patches of an image to logits of its class (Dosovitskiy et al. 2021).

    Attributes:
        patches: from a patch's pixels, -1 to 1, channels first, to its embedding.
        patch_size: height and width of a patch, in pixels.
        channels: channels of an image.
        grid: rows, and columns, of patches.
        positions: (patches, d), added to them.
        first: tokens before the patches, each (1, d) or (n, d).
        stack: its layers, each an ``EncoderLayerSpec``.
        pooling: what the classifier reads: the first token, or the mean of the patches.
        classifier: the output layer.
    """

    patches: LinearSpec
    patch_size: int
    channels: int
    grid: int
    positions: Weight
    first: tuple[Weight, ...]
    stack: StackSpec
    pooling: Literal["class", "mean"]
    classifier: LinearSpec


def map_weights(spec: Spec, change: Callable[[Any], Any]) -> Spec:
    """Return a description with every weight changed; other values stay.

    Args:
        spec: a description.
        change: maps a weight, or anything else that is neither a tuple nor a description.
    """
    if isinstance(spec, tuple):
        return tuple(map_weights(part, change) for part in spec)  # type: ignore[return-value]
    if is_dataclass(spec):
        parts = {field.name: map_weights(getattr(spec, field.name), change) for field in fields(spec)}
        return replace(spec, **parts)  # type: ignore[type-var]
    changed: Spec = change(spec)
    return changed


def values(spec: object) -> Iterator[object]:
    """Yield every value of a description that is neither a tuple nor a description."""
    if isinstance(spec, tuple):
        for part in spec:
            yield from values(part)
    elif is_dataclass(spec):
        for field in fields(spec):
            yield from values(getattr(spec, field.name))
    else:
        yield spec
