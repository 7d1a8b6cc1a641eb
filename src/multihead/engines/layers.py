"""The Transformer's layers laid out for search on a CPU (Vaswani et al. 2017, sec. 3.1 and 3.2).

The same equations as ``nn.layers``, which are the oracle in the tests, with less work around the products:
matrices are cast once and not in every step, and W^Q, W^K, W^V are one product; 1 / sqrt(d_k) stands in W^Q;
attention is computed in float32, whose batched products of such sizes a CPU computes 2 to 5 times as fast as
bf16's; and a beam is never reordered, because a sentence's hypotheses share one memory of what they wrote, of
which each sees its own ancestors.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.engines.constant_linear import ConstantLinear
from multihead.engines.native.layers import NativeDecoder, NativeEncoderLayer
from multihead.engines.shared_cache import Cache, Keys, SharedCache
from multihead.nn.attention import DotProductAttention
from multihead.nn.feed_forward import ACTIVATIONS, FeedForward
from multihead.nn.layers import DecoderLayer, EncoderLayer
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.residual import PostNorm, PreNorm

Norm = Callable[[Tensor], Tensor]


class _Around:
    """The residual connection around a sublayer, pre- or post-norm."""

    def __init__(self, residual: PreNorm | PostNorm) -> None:
        self._before, self._norm = isinstance(residual, PreNorm), residual.norm

    def __call__(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self._before:
            return sublayer(self._norm(x)).add_(x)
        normed: Tensor = self._norm(sublayer(x).add_(x))
        return normed


class _Heads:
    """A multi-head attention's matrices. Queries come scaled, so that scores are plain products."""

    def __init__(self, attention: MultiHeadAttention, dtype: torch.dtype) -> None:
        heads, w_q, w_v = attention.num_heads, attention.w_q, attention.w_v
        self.num_heads, self.d_k, self.d_v = heads, w_q.out_features // heads, w_v.out_features // heads
        self.scale = self.d_k**-0.5
        self.w_o = ConstantLinear.of(dtype, attention.w_o)

    def split(self, y_NQe: Tensor) -> Tensor:
        """(N, Q, H * d) to (N, H, Q, d), in float32 and contiguous."""
        N, Q, e = y_NQe.shape
        split = torch.empty(N, self.num_heads, Q, e // self.num_heads)
        return split.copy_(y_NQe.view(N, Q, self.num_heads, -1).transpose(1, 2))

    def attend(self, q_NHQd: Tensor, keys: Keys, bias: Tensor | None) -> Tensor:
        """softmax(Q K^T + bias) V W^O; the bias is 0 or -infinity, broadcastable to (N, H, Q, K)."""
        scores = q_NHQd @ keys.k.mT
        if bias is not None:
            scores += bias
        heads_NHQd = scores.softmax(-1) @ keys.v
        N, H, Q, d = heads_NHQd.shape
        beside = torch.empty(N, Q, H, d, dtype=self.w_o.weight.dtype).copy_(heads_NHQd.transpose(1, 2))
        return self.w_o(beside.view(N, Q, H * d))


class _SelfAttention(_Heads):
    def __init__(self, attention: MultiHeadAttention, dtype: torch.dtype) -> None:
        super().__init__(attention, dtype)
        self._w_qkv = ConstantLinear.of(dtype, attention.w_q, attention.w_k, attention.w_v, first=self.scale)
        self._sizes = [self.num_heads * d for d in (self.d_k, self.d_k, self.d_v)]

    def read(self, y_NQd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (N, Q, H * d_k) and, as the heads of a cache, keys and values (N, Q, H, d)."""
        q, k, v = torch.split(self._w_qkv(y_NQd), self._sizes, dim=-1)
        N, K, _ = y_NQd.shape
        return q, k.view(N, K, self.num_heads, -1), v.view(N, K, self.num_heads, -1)


class _CrossAttention(_Heads):
    def __init__(self, attention: MultiHeadAttention, dtype: torch.dtype) -> None:
        super().__init__(attention, dtype)
        self.w_q = ConstantLinear.of(dtype, attention.w_q, first=self.scale)
        self._w_k = ConstantLinear.of(dtype, attention.w_k)
        self._w_v = ConstantLinear.of(dtype, attention.w_v)

    def keys(self, memory_NSd: Tensor) -> Keys:
        """The source's keys and values."""
        return Keys(self.split(self._w_k(memory_NSd)), self.split(self._w_v(memory_NSd)))


class _FeedForward:
    def __init__(self, network: FeedForward, dtype: torch.dtype) -> None:
        self._w_1, self._w_2 = ConstantLinear.of(dtype, network.w_1), ConstantLinear.of(dtype, network.w_2)
        self._activation = F.relu_ if network.activation is ACTIVATIONS["relu"] else network.activation

    def __call__(self, x: Tensor) -> Tensor:
        return self._w_2(self._activation(self._w_1(x)))


class PreparedEncoderLayer:
    """``nn.EncoderLayer`` for reading only."""

    def __init__(self, layer: EncoderLayer, dtype: torch.dtype) -> None:
        self._attention = _SelfAttention(layer.self_attention, dtype)
        self._feed_forward = _FeedForward(layer.feed_forward, dtype)
        self._around_attention, self._around_feed_forward = _arounds(layer, "attention", "feed_forward")

    def __call__(self, x_BNd: Tensor, lengths_B: Tensor) -> Tensor:
        """(B, N, d_model) to the same; ``lengths_B``: how many positions are real."""
        bias = source_bias(lengths_B, x_BNd.shape[1])

        def look(y: Tensor) -> Tensor:
            q, k, v = self._attention.read(y)
            split = self._attention.split
            return self._attention.attend(split(q), Keys(split(k.flatten(2)), split(v.flatten(2))), bias)

        return self._around_feed_forward(self._around_attention(x_BNd, look), self._feed_forward)


class PreparedDecoderLayer:
    """``nn.DecoderLayer`` for taking steps only."""

    def __init__(self, layer: DecoderLayer, dtype: torch.dtype) -> None:
        self._self_attention = _SelfAttention(layer.self_attention, dtype)
        self._cross_attention = _CrossAttention(layer.cross_attention, dtype)
        self._feed_forward = _FeedForward(layer.feed_forward, dtype)
        self._around = _arounds(layer, "self", "cross", "feed_forward")

    def begin(self, memory_NSd: Tensor, lengths_N: Tensor) -> SharedCache:
        """The cache before the first step; ``lengths_N``: how many positions of the source are real."""
        bias = source_bias(lengths_N, memory_NSd.shape[1])
        return SharedCache(self._cross_attention.keys(memory_NSd), bias)

    def step(self, x_NKd: Tensor, cache: SharedCache, bias_NKS: Tensor | None) -> Tensor:
        """One position of each sentence's K hypotheses; their keys and values are appended to the cache.

        Args:
            x_NKd: (N, K, d_model).
            cache: this layer's.
            bias_NKS: 0 or -infinity for each slot written so far, these included, (N, K, slots); None: 0.
        """

        def look_back(y: Tensor) -> Tensor:
            q, k, v = self._self_attention.read(y)
            bias = None if bias_NKS is None else bias_NKS[:, None]
            return self._self_attention.attend(self._self_attention.split(q), cache.append(k, v), bias)

        def look_at_source(y: Tensor) -> Tensor:
            attention = self._cross_attention
            return attention.attend(attention.split(attention.w_q(y)), cache.source, cache.source_bias)

        around_self, around_cross, around_feed_forward = self._around
        x_NKd = around_cross(around_self(x_NKd, look_back), look_at_source)
        return around_feed_forward(x_NKd, self._feed_forward)


def preparable(layers: Iterable[nn.Module]) -> bool:
    """Whether these layers are made of what can be laid out here."""
    return all(
        isinstance(layer, EncoderLayer | DecoderLayer) and all(map(_known, layer.children()))
        for layer in layers
    )


def _known(part: nn.Module) -> bool:
    if isinstance(part, MultiHeadAttention):
        return type(part.score) is DotProductAttention
    return type(part) in (FeedForward, PreNorm, PostNorm)


def encoder_layers(
    layers: Iterable[nn.Module], dtype: torch.dtype, *, native: bool
) -> list[PreparedEncoderLayer] | list[NativeEncoderLayer]:
    """Lay out an encoder's layers, with matrices in ``dtype``; for the native kernels where those suit."""
    encoder = [cast(EncoderLayer, layer) for layer in layers]
    if native:
        return [NativeEncoderLayer(layer, dtype) for layer in encoder]
    return [PreparedEncoderLayer(layer, dtype) for layer in encoder]


class StepDecoder(Protocol):
    """A decoder's layers and the output layer, taking steps; each kind has caches of its own."""

    def begin(self, memory_NSd: Tensor, lengths_N: Tensor) -> Sequence[Cache]:
        """See ``PreparedDecoderLayer.begin``."""
        ...

    def step(self, x_NKd: Tensor, caches: Sequence[Any], bias_NKS: Tensor | None) -> object:
        """One position of each sentence's K hypotheses; see ``PreparedDecoderLayer.step``."""
        ...

    def logits(self, x_NKd: Tensor, caches: Sequence[Any], bias_NKS: Tensor | None) -> Tensor:
        """The same, and scores of what may follow each hypothesis, (N * K, V)."""
        ...


class PreparedDecoder:
    """A stack of ``nn.DecoderLayer``, the norm at its end and the output layer, for taking steps only."""

    def __init__(
        self, layers: Iterable[DecoderLayer], norm: Norm, output: ConstantLinear, dtype: torch.dtype
    ) -> None:
        self._layers = [PreparedDecoderLayer(layer, dtype) for layer in layers]
        self._norm, self._output = norm, output

    def begin(self, memory_NSd: Tensor, lengths_N: Tensor) -> list[SharedCache]:
        """The caches before the first step, one a layer."""
        return [layer.begin(memory_NSd, lengths_N) for layer in self._layers]

    def step(self, x_NKd: Tensor, caches: Sequence[SharedCache], bias_NKS: Tensor | None) -> Tensor:
        """One position of each sentence's K hypotheses, through all layers: (N, K, d_model) to the same."""
        for layer, cache in zip(self._layers, caches, strict=True):
            x_NKd = layer.step(x_NKd, cache, bias_NKS)
        return x_NKd

    def logits(self, x_NKd: Tensor, caches: Sequence[SharedCache], bias_NKS: Tensor | None) -> Tensor:
        """The same, and scores of what may follow each hypothesis, (N * K, V)."""
        return self._output(self._norm(self.step(x_NKd, caches, bias_NKS)).flatten(0, 1))


def step_decoder(
    layers: Iterable[nn.Module],
    norm: nn.Module,
    output: tuple[Tensor, Tensor | None],
    dtype: torch.dtype,
    *,
    native: bool,
) -> StepDecoder:
    """Lay out a decoder's layers, the norm at their end, and the output layer (weight and bias).

    Args:
        layers: ``nn.DecoderLayer``.
        norm: a layer norm, or something that leaves what it is given.
        output: (V, d_model), and (V,) or None.
        dtype: of the matrices.
        native: for the native kernels.
    """
    decoder = [cast(DecoderLayer, layer) for layer in layers]
    weight, bias = output
    if native:
        return NativeDecoder(decoder, norm, output, dtype)
    linear = ConstantLinear(weight.detach().to(dtype), None if bias is None else bias.detach().to(dtype))
    return PreparedDecoder(decoder, final_norm(norm), linear, dtype)


def final_norm(norm: nn.Module) -> Norm:
    """The norm at the end of a stack, without what is there for gradients."""
    if not isinstance(norm, nn.LayerNorm):
        return norm
    weight, bias, epsilon = norm.weight.detach(), norm.bias.detach(), norm.eps
    return lambda x: F.layer_norm(x.float(), weight.shape, weight, bias, epsilon).to(x.dtype)


def source_bias(lengths_N: Tensor, width: int) -> Tensor | None:
    """0 for each real position of the sources, -infinity behind them, (N, 1, 1, S); None: all are real."""
    absent_NS = torch.arange(width) >= lengths_N[:, None]
    if not bool(absent_NS.any()):
        return None
    return torch.zeros(absent_NS.shape).masked_fill_(absent_NS, -torch.inf)[:, None, None]


def _arounds(layer: nn.Module, *names: str) -> Sequence[_Around]:
    return [_Around(cast(PreNorm | PostNorm, getattr(layer, f"around_{name}"))) for name in names]
