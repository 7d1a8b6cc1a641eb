"""Encoder and decoder layers, and their stacks (Vaswani et al. 2017, sec. 3.1, figure 1).

A layer receives its parts: attention, feed-forward network, and residual connection (pre- or post-norm).
"""

from collections.abc import Callable, Sequence
from typing import cast

from torch import Tensor, nn

from multihead.nn import description
from multihead.nn.decoding import LayerCache
from multihead.nn.description import (
    AttentionSpec,
    DecoderLayerSpec,
    EncoderLayerSpec,
    FeedForwardSpec,
    RecurrentDecoderLayerSpec,
    ResidualSpec,
    StackSpec,
    describe,
)
from multihead.nn.modules import LayerNorm
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.residual import PostNorm, ResidualKind

Residual = Callable[[], nn.Module]
"""Factory of one sublayer's residual connection, ``residual(x, sublayer)``."""


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside a residual connection (figure 1, left)."""

    def __init__(
        self, self_attention: MultiHeadAttention, feed_forward: nn.Module, residual: Residual
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        self.around_attention, self.around_feed_forward = residual(), residual()

    def forward(self, x_BNd: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Apply the layer; (B, N, d_model) to the same; ``allowed`` broadcastable to (B, H, N, N)."""
        x_BNd = self.around_attention(x_BNd, lambda y: self.self_attention(y, y, allowed))
        out: Tensor = self.around_feed_forward(x_BNd, self.feed_forward)
        return out

    def describe(self) -> EncoderLayerSpec:
        """The description that engines and exports read."""
        return EncoderLayerSpec(
            self_attention=describe(self.self_attention, AttentionSpec),
            feed_forward=describe(self.feed_forward, FeedForwardSpec),
            around_attention=describe(self.around_attention, ResidualSpec),
            around_feed_forward=describe(self.around_feed_forward, ResidualSpec),
        )


def cached_self_attention(
    attention: MultiHeadAttention, x_RQd: Tensor, cache: LayerCache, allowed: Tensor | None
) -> Tensor:
    """Self-attention of the next Q positions of R rows, (R, Q, d_model); their keys and values are cached."""
    start = cache.position
    k, v = cache.append(*attention.keys_values(x_RQd, start))
    return attention.attend(attention.queries(x_RQd, start), k, v, allowed)


def attention_to_source(
    attention: MultiHeadAttention, x_RQd: Tensor, cache: LayerCache, memory_allowed: Tensor | None
) -> Tensor:
    """Attention of R rows to the cached keys and values of their sentences' sources, (R, Q, d_model)."""
    # A sentence's hypotheses share its keys: they are just more queries.
    x_NQd = x_RQd.reshape(cache.sentences, -1, x_RQd.shape[-1])
    q = attention.queries(x_NQd)
    out = attention.attend(q, cache.source_keys, cache.source_values, memory_allowed)
    return out.reshape(x_RQd.shape)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the encoder's output, feed-forward (figure 1, right)."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        residual: Residual,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.around_self, self.around_cross, self.around_feed_forward = residual(), residual(), residual()

    def forward(
        self,
        x_BTd: Tensor,
        memory_BSd: Tensor,
        allowed: Tensor | None = None,
        memory_allowed: Tensor | None = None,
    ) -> Tensor:
        """Apply the layer to whole sequences, as in training; (B, T, d_model).

        Args:
            x_BTd: the target side, (B, T, d_model).
            memory_BSd: the encoder's output, (B, S, d_model).
            allowed: mask of self-attention, broadcastable to (B, H, T, T).
            memory_allowed: mask of cross-attention, broadcastable to (B, H, T, S).
        """
        x_BTd = self.around_self(x_BTd, lambda y: self.causal(y, allowed))
        x_BTd = self.around_cross(x_BTd, lambda y: self.cross_attention(y, memory_BSd, memory_allowed))
        out: Tensor = self.around_feed_forward(x_BTd, self.feed_forward)
        return out

    def step(
        self, x_RQd: Tensor, cache: LayerCache, allowed: Tensor | None, memory_allowed: Tensor | None
    ) -> Tensor:
        """The next Q positions of R hypotheses; the cache moves on.

        Computes the same as :meth:`forward`, with earlier keys and values from the cache.
        """
        x_RQd = self.around_self(x_RQd, lambda y: self.causal_step(y, cache, allowed))
        x_RQd = self.around_cross(
            x_RQd, lambda y: attention_to_source(self.cross_attention, y, cache, memory_allowed)
        )
        out: Tensor = self.around_feed_forward(x_RQd, self.feed_forward)
        return out

    def causal(self, x_BTd: Tensor, allowed: Tensor | None) -> Tensor:
        """The first sublayer on whole sequences: masked self-attention."""
        out: Tensor = self.self_attention(x_BTd, x_BTd, allowed)
        return out

    def causal_step(self, x_RQd: Tensor, cache: LayerCache, allowed: Tensor | None) -> Tensor:
        """The first sublayer at the next Q positions; their keys and values are appended to the cache."""
        return cached_self_attention(self.self_attention, x_RQd, cache, allowed)

    def begin(self, memory_BSd: Tensor, shift_B: Tensor | None = None) -> LayerCache:
        """The cache before the first step: the source's keys and values, no target positions."""
        return LayerCache(*self.cross_attention.keys_values(memory_BSd))

    def describe(self) -> DecoderLayerSpec:
        """The description that engines and exports read."""
        return DecoderLayerSpec(
            self_attention=describe(self.self_attention, AttentionSpec),
            cross_attention=describe(self.cross_attention, AttentionSpec),
            feed_forward=describe(self.feed_forward, FeedForwardSpec),
            around_self=describe(self.around_self, ResidualSpec),
            around_cross=describe(self.around_cross, ResidualSpec),
            around_feed_forward=describe(self.around_feed_forward, ResidualSpec),
        )


def _final_norm(d_model: int, residual: ResidualKind) -> nn.Module:
    if residual.ends_normalised:
        return nn.Identity()
    kind: type[nn.Module] = getattr(residual, "norm_kind", LayerNorm)
    return kind(d_model)


class TransformerEncoder(nn.Module):
    """A stack of num_layers encoder layers.

    Args:
        num_layers: N in the paper.
        d_model: width of the residual stream.
        attention: factory of a layer's attention.
        feed_forward: factory of a layer's feed-forward network.
        residual: ``PostNorm`` (as published), ``PreNorm``, or one of ``nn.ablations``.
        dropout: dropout inside the residual connections.
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        *,
        attention: Callable[[], MultiHeadAttention],
        feed_forward: Callable[[], nn.Module],
        residual: ResidualKind = PostNorm,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(attention(), feed_forward(), lambda: residual(d_model, dropout))
            for _ in range(num_layers)
        )
        self.norm = _final_norm(d_model, residual)

    def forward(self, x_BNd: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Apply all layers; (B, N, d_model) to the same; ``allowed`` broadcastable to (B, H, N, N)."""
        for layer in self.layers:
            x_BNd = layer(x_BNd, allowed)
        out: Tensor = self.norm(x_BNd)
        return out

    def describe(self) -> StackSpec:
        """The description that engines and exports read."""
        layers = tuple(describe(layer, EncoderLayerSpec) for layer in self.layers)
        return StackSpec(layers, description.describe_norm(self.norm))


class TransformerDecoder(nn.Module):
    """A stack of num_layers decoder layers; arguments as of :class:`TransformerEncoder`.

    ``cross_attention`` is the factory of a layer's attention over the source; default ``attention``.
    ``layer`` is the class of a layer, whose first part ``attention`` makes.
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        *,
        attention: Callable[[], nn.Module],
        cross_attention: Callable[[], nn.Module] | None = None,
        feed_forward: Callable[[], nn.Module],
        residual: ResidualKind = PostNorm,
        dropout: float = 0.0,
        layer: Callable[..., DecoderLayer] = DecoderLayer,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            layer(
                attention(),
                (cross_attention or attention)(),
                feed_forward(),
                lambda: residual(d_model, dropout),
            )
            for _ in range(num_layers)
        )
        self.norm = _final_norm(d_model, residual)

    def forward(
        self,
        x_BTd: Tensor,
        memory_BSd: Tensor,
        allowed: Tensor | None = None,
        memory_allowed: Tensor | None = None,
    ) -> Tensor:
        """Apply all layers to whole sequences; arguments as of :meth:`DecoderLayer.forward`."""
        for layer in self.layers:
            x_BTd = layer(x_BTd, memory_BSd, allowed, memory_allowed)
        out: Tensor = self.norm(x_BTd)
        return out

    def begin(self, memory_BSd: Tensor, shift_B: Tensor | None = None) -> tuple[LayerCache, ...]:
        """Every layer's cache before the first step; ``shift_B``: left padding of the prefixes."""
        return tuple(layer.begin(memory_BSd, shift_B) for layer in self._decoder_layers())

    def step(
        self,
        x_RQd: Tensor,
        caches: Sequence[LayerCache],
        allowed: Tensor | None,
        memory_allowed: Tensor | None,
    ) -> Tensor:
        """The next Q positions of R hypotheses; arguments as of :meth:`DecoderLayer.step`."""
        for layer, cache in zip(self._decoder_layers(), caches, strict=True):
            x_RQd = layer.step(x_RQd, cache, allowed, memory_allowed)
        out: Tensor = self.norm(x_RQd)
        return out

    def describe(self) -> StackSpec:
        """The description that engines and exports read."""
        kinds = DecoderLayerSpec | RecurrentDecoderLayerSpec
        layers: tuple[object, ...] = tuple(describe(layer, kinds) for layer in self.layers)
        return StackSpec(layers, description.describe_norm(self.norm))

    def _decoder_layers(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.layers))
