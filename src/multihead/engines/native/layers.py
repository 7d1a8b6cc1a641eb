"""The Transformer's layers in search, each computed by one native kernel (``native/search_layers.h``).

Equations as in ``nn.layers``, layout as in ``engines.layers``. What it gains: a step of a small model is a
hundred calls with little work in each; here it is one call a layer, and a block of sentences stays in the
processor's cache from the first product to the last.
"""

import ctypes
import math
from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from multihead import native
from multihead.engines.native.cache import NativeCache
from multihead.engines.native.packed_linear import PackedLinear
from multihead.engines.native.screen import Screen
from multihead.nn.attention import DotProductAttention
from multihead.nn.feed_forward import ACTIVATIONS, FeedForward
from multihead.nn.layers import DecoderLayer, EncoderLayer
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.residual import PostNorm, PreNorm


class _Layer:
    """What the kernels are told of a layer: widths, matrices, norms.

    Args:
        attention: whose widths are those of all.
        matrices: in the kernel's order.
        arounds: its residual connections.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        matrices: Sequence[PackedLinear],
        arounds: Iterable[PreNorm | PostNorm],
    ) -> None:
        H, first, last = attention.num_heads, matrices[-2], matrices[-1]
        d_k, d_v = attention.w_q.out_features // H, attention.w_v.out_features // H
        self.widths = (H, last.outputs, d_k, d_v, first.outputs)
        norms = [_Norm(around.norm) for around in arounds]
        self._kept = matrices, norms
        description = (
            *(number for matrix in matrices for number in matrix.description),
            all(isinstance(around, PreNorm) for around in arounds),
            *(number for norm in norms for number in norm.description),
        )
        self.description: tuple[int, ...] = description


class _Norm:
    """A layer norm, which is copied, as the kernels are told of it."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        self._kept = [part.detach().float().clone() for part in (norm.weight, norm.bias)]
        self.description = (*map(native.address, self._kept), native.bits(norm.eps))


class NativeEncoderLayer:
    """``nn.EncoderLayer`` for reading only. ``suits`` says whether it can be one.

    Args:
        layer: its weights are copied.
        dtype: of the matrices.
    """

    def __init__(self, layer: EncoderLayer, dtype: torch.dtype) -> None:
        self._dtype = dtype
        own, network = layer.self_attention, layer.feed_forward
        matrices = [
            PackedLinear.of(dtype, own.w_q, own.w_k, own.w_v, first=_scale(own)),
            PackedLinear.of(dtype, own.w_o),
            PackedLinear.of(dtype, network.w_1),
            PackedLinear.of(dtype, network.w_2),
        ]
        self._layer = _Layer(own, matrices, _arounds(layer, "attention", "feed_forward"))
        self._description = native.integers(self._layer.description)

    def __call__(self, x_NSd: Tensor, lengths_N: Tensor) -> Tensor:
        """(N, S, d_model), float32, to the same, in place; ``lengths_N``: how many positions are real."""
        N, S, _ = x_NSd.shape
        assert x_NSd.is_contiguous()
        assert S > 0
        native.call(
            "encoder_layer",
            self._dtype,
            x_NSd,
            self._description,
            (N, S, *self._layer.widths),
            lengths_N.long().contiguous(),
        )
        return x_NSd


class NativeDecoder:
    """A stack of ``nn.DecoderLayer``, the norm at its end and the output layer, for taking steps only.

    Args:
        layers: alike but for their weights, which are copied. ``suits`` says whether each can be one.
        norm: a layer norm, or something that leaves what it is given.
        output: weight (V, d_model) and bias (V,) or None of the output layer.
        dtype: of the matrices and of the cached keys and values, which are bf16 beside int8.
    """

    def __init__(
        self,
        layers: Sequence[DecoderLayer],
        norm: nn.Module,
        output: tuple[Tensor, Tensor | None],
        dtype: torch.dtype,
    ) -> None:
        self._dtype = dtype
        self._layers = [_decoder_layer(layer, dtype) for layer in layers]
        sources = [layer.cross_attention for layer in layers]
        self._w_kv = [PackedLinear.of(dtype, source.w_k, source.w_v) for source in sources]
        self.output = PackedLinear(*output, dtype)
        self._screen = Screen(*output, dtype) if Screen.pays(len(output[0]), 1, dtype) else None
        self._norm = _Norm(norm) if isinstance(norm, nn.LayerNorm) else None
        self._in_layers = native.integers(
            tuple(number for layer in self._layers for number in layer.description)
        )
        in_norm = self._norm.description if self._norm else (0, 0, 0)
        self._description = native.integers(
            (ctypes.addressof(self._in_layers), len(layers), *in_norm, *self.output.description)
        )
        self._widths = self._layers[0].widths
        self._heads, _, self._d_k, self._d_v, _ = self._widths

    def begin(self, memory_NSd: Tensor, lengths_N: Tensor) -> list[NativeCache]:
        """The cache before the first step, one for all layers, with the source's keys and values."""
        N, S, _ = memory_NSd.shape
        memory_NSd, lengths_N = memory_NSd.contiguous(), lengths_N.long().contiguous()
        heads = len(self._w_kv), N, self._heads
        cache = NativeCache(heads, self._d_k, self._d_v, S, lengths_N, self._dtype)
        for layer, w_kv in enumerate(self._w_kv):
            sizes = (N, S, *self._widths)
            native.call("keep_source", self._dtype, memory_NSd, layer, w_kv.description, sizes, cache.source)
        return [cache]

    def step(self, x_NKd: Tensor, caches: Sequence[NativeCache], bias_NKS: Tensor | None) -> None:
        """One position of each sentence's K hypotheses; their keys and values are appended to the cache.

        Args:
            x_NKd: (N, K, d_model), float32; overwritten.
            caches: of ``begin``.
            bias_NKS: 0 or -infinity for each slot written so far, these included, (N, K, slots); None: 0.
        """
        self._decode(x_NKd, caches, bias_NKS, None)

    def logits(self, x_NKd: Tensor, caches: Sequence[NativeCache], bias_NKS: Tensor | None) -> Tensor:
        """The same, and scores of what may follow each hypothesis, (N * K, V)."""
        N, K, _ = x_NKd.shape
        logits_RV = torch.empty(N * K, self.output.outputs, dtype=torch.float32)
        self._decode(x_NKd, caches, bias_NKS, logits_RV)
        return logits_RV

    def beam(
        self,
        cache: NativeCache,
        looked_up: tuple[Tensor, Tensor | None],
        search: tuple[int, ...],
        wanted: int,
        hypotheses: tuple[int, ...],
        steps: tuple[int, int],
        report: Tensor,
    ) -> None:
        """Some steps of a beam search (``native/beam.h``, which says what its arguments are).

        Args:
            cache: of ``begin``, with room for the steps.
            looked_up: embeddings (V, d_model), and positions' encodings or None, float32.
            search: what is searched for, the banned tokens by their address.
            wanted: how many of the largest scores are looked for after each hypothesis.
            hypotheses: addresses of what is known of the sentences still searched.
            steps: the first, and how many at most.
            report: filled.
        """
        screen = self._screen if Screen.pays(self.output.outputs, wanted, self._dtype) else None
        native.call(
            "beam_search",
            self._dtype,
            self._description,
            (cache.sentences, 1, *self._widths),
            cache.own,
            cache.source,
            cache.lengths_N,
            *looked_up,
            screen.description if screen else Screen.NONE,
            search,
            hypotheses,
            *steps,
            report,
        )

    def _decode(
        self,
        x_NKd: Tensor,
        caches: Sequence[NativeCache],
        bias_NKS: Tensor | None,
        logits_RV: Tensor | None,
    ) -> None:
        N, K, _ = x_NKd.shape
        (cache,) = caches
        cache.slots += K
        assert x_NKd.is_contiguous()
        assert bias_NKS is None or (bias_NKS.is_contiguous() and bias_NKS.shape == (N, K, cache.slots))
        cache.reserve(cache.slots)
        native.call(
            "decode",
            self._dtype,
            x_NKd,
            self._description,
            (N, K, *self._widths),
            cache.own,
            cache.source,
            bias_NKS,
            cache.slots,
            cache.lengths_N,
            logits_RV,
        )


def _decoder_layer(layer: DecoderLayer, dtype: torch.dtype) -> _Layer:
    own, source, network = layer.self_attention, layer.cross_attention, layer.feed_forward
    matrices = [
        PackedLinear.of(dtype, own.w_q, own.w_k, own.w_v, first=_scale(own)),
        PackedLinear.of(dtype, own.w_o),
        PackedLinear.of(dtype, source.w_q, first=_scale(source)),
        PackedLinear.of(dtype, source.w_o),
        PackedLinear.of(dtype, network.w_1),
        PackedLinear.of(dtype, network.w_2),
    ]
    return _Layer(own, matrices, _arounds(layer, "self", "cross", "feed_forward"))


def suits(layer: nn.Module) -> bool:
    """Whether there are native kernels, and for such a layer: dot products, ReLU, layer norm."""
    parts = list(layer.children())
    return native.level() != "" and all(
        (isinstance(part, MultiHeadAttention) and type(part.score) is DotProductAttention)
        or (isinstance(part, FeedForward) and part.activation is ACTIVATIONS["relu"])
        or type(part) in (PreNorm, PostNorm)
        for part in parts
    )


def _scale(attention: MultiHeadAttention) -> float:
    d_k: float = attention.w_q.out_features / attention.num_heads
    return 1 / math.sqrt(d_k)


def _arounds(layer: nn.Module, *names: str) -> list[PreNorm | PostNorm]:
    return [cast(PreNorm | PostNorm, getattr(layer, f"around_{name}")) for name in names]
