"""The Transformer's layers laid out for search (Vaswani et al. 2017, sec. 3.1 and 3.2).

The same equations as ``nn.layers`` (the oracle in the tests), with less work around the products. Matrices
are cast once, not in every step. W^Q, W^K and W^V are one product. The scale of the scores is folded into
W^Q. A beam is never reordered: a sentence's hypotheses share one key/value memory, and a mask selects each
one's ancestors. The memory grows (``engines.shared_cache``) or has a fixed size (``engines.cuda.cache``).
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from multihead.engines.accepting import declines_attention, declines_window
from multihead.engines.attention import Attention, KeysAndValues
from multihead.engines.parts import ConstantLinear, constant_norm
from multihead.engines.recurrent import LaidOutSSRU
from multihead.engines.shared_cache import Cache, SharedCache, source_bias
from multihead.nn import ops
from multihead.nn.description import (
    AttentionSpec,
    DecoderLayerSpec,
    EncoderDecoderSpec,
    EncoderLayerSpec,
    FeedForwardSpec,
    LinearSpec,
    RecurrentDecoderLayerSpec,
    ResidualSpec,
    StackSpec,
)
from multihead.nn.feed_forward import ACTIVATIONS
from multihead.nn.parts.gated_feed_forward import GATES


def declines(spec: EncoderDecoderSpec, dtype: torch.dtype) -> str | None:
    """Return why these layers cannot compute a model; None: they can.

    Args:
        spec: the model's description.
        dtype: of matrix products.
    """
    if dtype == torch.int8:
        return "int8 products need the native kernels"
    return declines_window(spec) or declines_attention(spec)


def declines_on_gpu(spec: EncoderDecoderSpec, dtype: torch.dtype) -> str | None:
    """As :func:`declines`, for captured steps over buffers of fixed size."""
    if spec.recurrent:
        return "the decoder's cell is an SSRU, whose slots have no buffers of fixed size"
    return declines(spec, dtype)


class OwnCache(Protocol):
    """A layer's key/value cache, as a step writes and reads it."""

    @property
    def source(self) -> KeysAndValues:
        """The source's keys and values."""
        ...

    @property
    def source_bias(self) -> Tensor | None:
        """0, or -infinity at padding, broadcastable to (N, 1, K, S); None: no padding."""
        ...

    def append(self, k_NGKd: Tensor, v_NGKd: Tensor) -> KeysAndValues:
        """Append a position of each sentence's K hypotheses; return all keys and values of the target."""
        ...


class _Around:
    """The residual connection around a sublayer, pre- or post-norm."""

    def __init__(self, spec: ResidualSpec) -> None:
        self._before, self._norm = spec.kind == "pre", constant_norm(spec.norm)

    def __call__(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self._before:
            return x + sublayer(ops.layer_norm(x, self._norm))
        return ops.residual_norm(x, sublayer(x), self._norm, 0.0)


class _SelfAttention:
    def __init__(self, spec: AttentionSpec, attention: Attention, dtype: torch.dtype) -> None:
        self._attention, self._heads, self._kv_heads = attention, spec.heads, spec.kv_heads
        factor = attention.query_factor(spec.scale, spec.d_k)
        self._w_qkv = ConstantLinear.of(dtype, spec.w_q, spec.w_k, spec.w_v, first=factor)
        self._w_o = ConstantLinear.of(dtype, spec.w_o)
        self._sizes = [len(part.weight) for part in (spec.w_q, spec.w_k, spec.w_v)]

    def __call__(
        self, x: Tensor, memory: Callable[[Tensor, Tensor], KeysAndValues], bias: Tensor | None
    ) -> Tensor:
        """Attend from x to the memory, after adding x's keys and values to it; same shape as x."""
        q, k, v = torch.split(self._w_qkv(x), self._sizes, dim=-1)
        heads = self._attention.heads
        keys = memory(heads(k, self._kv_heads), heads(v, self._kv_heads))
        return self._w_o(self._attention(heads(q, self._heads), keys, bias))


class _CausalAttention:
    """Self-attention over the slots of a layer's cache."""

    def __init__(self, attention: _SelfAttention) -> None:
        self._attention = attention

    def __call__(self, x: Tensor, cache: OwnCache, bias: Tensor | None) -> Tensor:
        return self._attention(x, cache.append, bias)


class _CrossAttention:
    def __init__(self, spec: AttentionSpec, attention: Attention, dtype: torch.dtype) -> None:
        self._attention, self._heads, self._kv_heads = attention, spec.heads, spec.kv_heads
        factor = attention.query_factor(spec.scale, spec.d_k)
        self._w_q = ConstantLinear.of(dtype, spec.w_q, first=factor)
        self._w_kv = ConstantLinear.of(dtype, spec.w_k, spec.w_v)
        self._w_o = ConstantLinear.of(dtype, spec.w_o)
        self._sizes = [len(part.weight) for part in (spec.w_k, spec.w_v)]

    def keys(self, memory_NSd: Tensor) -> KeysAndValues:
        """The source's keys and values."""
        parts = torch.split(self._w_kv(memory_NSd), self._sizes, dim=-1)
        return KeysAndValues(*(self._attention.heads(part, self._kv_heads) for part in parts))

    def __call__(self, x: Tensor, source: KeysAndValues, bias: Tensor | None) -> Tensor:
        """Attend from x to the source; same shape as x."""
        q = self._attention.heads(self._w_q(x), self._heads)
        return self._w_o(self._attention(q, source, bias))


class _FeedForward:
    def __init__(self, spec: FeedForwardSpec, dtype: torch.dtype) -> None:
        self._w_1, self._w_2 = ConstantLinear.of(dtype, spec.w_1), ConstantLinear.of(dtype, spec.w_2)
        self._gate = None if spec.gate is None else ConstantLinear.of(dtype, spec.gate)
        name = spec.activation if spec.gate is None else GATES[spec.activation]
        self._activation = F.relu_ if name == "relu" else ACTIVATIONS[name]

    def __call__(self, x: Tensor) -> Tensor:
        if self._gate is not None:
            return self._w_2(self._activation(self._gate(x)) * self._w_1(x))
        return self._w_2(self._activation(self._w_1(x)))


class LaidOutEncoderLayer:
    """An encoder layer for inference."""

    def __init__(self, spec: EncoderLayerSpec, attention: Attention, dtype: torch.dtype) -> None:
        self._self_attention = _SelfAttention(spec.self_attention, attention, dtype)
        self._feed_forward = _FeedForward(spec.feed_forward, dtype)
        self._around_attention, self._around_feed_forward = map(_Around, spec.residuals)

    def __call__(self, x_BNd: Tensor, lengths_B: Tensor) -> Tensor:
        """Apply the layer; (B, N, d_model) to the same; ``lengths_B``: true lengths."""
        bias = source_bias(lengths_B, x_BNd.shape[1])
        x_BNd = self._around_attention(x_BNd, lambda y: self._self_attention(y, KeysAndValues, bias))
        return self._around_feed_forward(x_BNd, self._feed_forward)


class LaidOutDecoderLayer:
    """A decoder layer for one step of every hypothesis."""

    def __init__(
        self, spec: DecoderLayerSpec | RecurrentDecoderLayerSpec, attention: Attention, dtype: torch.dtype
    ) -> None:
        self._cell: _CausalAttention | LaidOutSSRU
        if isinstance(spec, RecurrentDecoderLayerSpec):
            self._cell = LaidOutSSRU(spec.cell, dtype)
        else:
            self._cell = _CausalAttention(_SelfAttention(spec.self_attention, attention, dtype))
        self._cross_attention = _CrossAttention(spec.cross_attention, attention, dtype)
        self._feed_forward = _FeedForward(spec.feed_forward, dtype)
        self._around_cell, self._around_cross, self._around_feed_forward = map(_Around, spec.residuals)

    def source_keys(self, memory_NSd: Tensor) -> KeysAndValues:
        """The keys and values of the encoder's output."""
        return self._cross_attention.keys(memory_NSd)

    def step(self, x_NKd: Tensor, cache: OwnCache, bias: Tensor | None) -> Tensor:
        """One position of each sentence's K hypotheses, (N, K, d_model), appended to the cache.

        Args:
            x_NKd: the layer's input.
            cache: this layer's cache.
            bias: 0 or -infinity for each slot, the new ones included, (N, 1, K, slots); None: 0.
        """
        x_NKd = self._around_cell(x_NKd, lambda y: self._cell(y, cache, bias))
        x_NKd = self._around_cross(x_NKd, lambda y: self._cross_attention(y, cache.source, cache.source_bias))
        return self._around_feed_forward(x_NKd, self._feed_forward)


class StepDecoder(Protocol):
    """A decoder with its output layer, for single steps; each implementation has its own caches."""

    def begin(self, memory_NSd: Tensor, lengths_N: Tensor) -> Sequence[Cache]:
        """The caches before the first step, with the source's keys and values."""
        ...

    def step(self, x_NKd: Tensor, caches: Sequence[Any], bias_NKS: Tensor | None) -> object:
        """Compute one position of each sentence's K hypotheses in all layers."""
        ...

    def logits(self, x_NKd: Tensor, caches: Sequence[Any], bias_NKS: Tensor | None) -> Tensor:
        """Take a step and return the logits of each hypothesis's next token, (N * K, V)."""
        ...


class LaidOutDecoder:
    """A stack of decoder layers, its final norm and the output layer, for single steps.

    Args:
        stack: the layers.
        output: the output layer.
        attention: the device's attention.
        dtype: of matrix products.
    """

    def __init__(
        self, stack: StackSpec, output: LinearSpec, attention: Attention, dtype: torch.dtype
    ) -> None:
        self.layers = [LaidOutDecoderLayer(layer, attention, dtype) for layer in stack.layers]
        self._norm = None if stack.norm is None else constant_norm(stack.norm)
        self._output = ConstantLinear.of(dtype, output)
        self.device = output.weight.device

    def begin(self, memory_NSd: Tensor, lengths_N: Tensor) -> list[SharedCache]:
        """The caches before the first step, one per layer; ``lengths_N``: true lengths of the sources."""
        bias = source_bias(lengths_N, memory_NSd.shape[1])
        return [SharedCache(layer.source_keys(memory_NSd), bias) for layer in self.layers]

    def step(self, x_NKd: Tensor, caches: Sequence[OwnCache], bias_NKS: Tensor | None) -> Tensor:
        """Compute one position of each sentence's K hypotheses in all layers; (N, K, d_model) to the same.

        Args:
            x_NKd: the decoder's input.
            caches: one per layer.
            bias_NKS: 0 or -infinity for each slot, the new ones included, (N, K, slots); None: 0.
        """
        bias = None if bias_NKS is None else bias_NKS[:, None]
        for layer, cache in zip(self.layers, caches, strict=True):
            x_NKd = layer.step(x_NKd, cache, bias)
        return x_NKd

    def logits(self, x_NKd: Tensor, caches: Sequence[OwnCache], bias_NKS: Tensor | None) -> Tensor:
        """Take a step and return the logits of each hypothesis's next token, (N * K, V)."""
        x_NKd = self.step(x_NKd, caches, bias_NKS)
        if self._norm is not None:
            x_NKd = ops.layer_norm(x_NKd, self._norm)
        return self._output(x_NKd.flatten(0, 1))
