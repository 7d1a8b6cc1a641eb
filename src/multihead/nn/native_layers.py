"""The Transformer's layers in search, each computed by one native kernel (``native/search_layers.h``).

Equations as in ``nn.layers``, layout as in ``nn.prepared``. What it gains: a step of a small model is a
hundred calls with little work in each; here it is one call a layer, and a block of sentences stays in the
processor's cache from the first product to the last.
"""

import math
from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from multihead import native
from multihead.nn.attention import DotProductAttention
from multihead.nn.feed_forward import ACTIVATIONS, FeedForward
from multihead.nn.kernels.packed_linear import PackedLinear
from multihead.nn.layers import DecoderLayer, EncoderLayer
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.residual import PostNorm, PreNorm

ALIGNED = 16
"""Slots and values are padded to multiples of this, the floats of the widest register."""


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
        norms = [around.norm for around in arounds]
        self.epsilon = norms[0].eps
        self._kept = matrices, [part.detach().float().clone() for n in norms for part in (n.weight, n.bias)]
        description = (
            *(number for matrix in matrices for number in matrix.description),
            *(part.data_ptr() for part in self._kept[1]),
            all(isinstance(around, PreNorm) for around in arounds),
        )
        self.description: tuple[int, ...] = description


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
        native.call(
            "encoder_layer",
            self._dtype,
            x_NSd,
            self._description,
            self._layer.epsilon,
            (N, S, *self._layer.widths),
            lengths_N.long().contiguous(),
        )
        return x_NSd


class NativeDecoder:
    """A stack of ``nn.DecoderLayer`` for taking steps only. ``suits`` says whether each can be one.

    Args:
        layers: alike but for their weights, which are copied.
        dtype: of the matrices and of the cached keys and values, which are bf16 beside int8.
    """

    def __init__(self, layers: Sequence[DecoderLayer], dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._layers = [_decoder_layer(layer, dtype) for layer in layers]
        sources = [layer.cross_attention for layer in layers]
        self._w_kv = [PackedLinear.of(dtype, source.w_k, source.w_v) for source in sources]
        self._description = native.integers(tuple(n for layer in self._layers for n in layer.description))
        self._widths, self._epsilon = self._layers[0].widths, self._layers[0].epsilon
        self._heads, _, self._d_k, self._d_v, _ = self._widths

    def begin(self, memory_NSd: Tensor, lengths_N: Tensor) -> list["NativeCache"]:
        """The caches before the first step, one a layer, with the source's keys and values."""
        N, S, _ = memory_NSd.shape
        memory_NSd, lengths_N = memory_NSd.contiguous(), lengths_N.long().contiguous()
        caches = [NativeCache(*self._room(N, S), lengths_N) for _ in self._layers]
        for w_kv, cache in zip(self._w_kv, caches, strict=True):
            sizes = (N, S, *self._widths)
            native.call("source_keys", self._dtype, memory_NSd, w_kv.description, sizes, cache.source)
        return caches

    def step(self, x_NKd: Tensor, caches: Sequence["NativeCache"], bias_NKS: Tensor | None) -> Tensor:
        """One position of each sentence's K hypotheses; their keys and values are appended to the caches.

        Args:
            x_NKd: (N, K, d_model), float32; overwritten.
            caches: the layers'.
            bias_NKS: 0 or -infinity for each slot written so far, these included, (N, K, slots); None: 0.
        """
        N, K, _ = x_NKd.shape
        slots = caches[0].slots + K
        assert x_NKd.is_contiguous()
        assert bias_NKS is None or (bias_NKS.is_contiguous() and bias_NKS.shape == (N, K, slots))
        for cache in caches:
            cache.slots = slots
            if slots > cache.room:
                cache.grow(*self._room(N, max(16 * K, 2 * cache.room)))
        native.call(
            "decoder_stack",
            self._dtype,
            x_NKd,
            len(caches),
            self._description,
            self._epsilon,
            (N, K, *self._widths),
            tuple(number for cache in caches for number in (*cache.own, *cache.source)),
            bias_NKS,
            caches[0].lengths_N,
        )
        return x_NKd

    def _room(self, sentences: int, slots: int) -> tuple[Tensor, Tensor]:
        """Keys (N, H, d_k, room) and values (N, H, room, d_v), d_v padded, for at least so many slots."""
        room, d_v = -(-slots // ALIGNED) * ALIGNED, -(-self._d_v // ALIGNED) * ALIGNED
        dtype = torch.bfloat16 if self._dtype == torch.int8 else self._dtype
        keys = torch.zeros(sentences, self._heads, self._d_k, room, dtype=dtype)
        return keys, torch.zeros(sentences, self._heads, room, d_v, dtype=dtype)


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


class NativeCache:
    """As ``nn.shared_cache.SharedCache``, with keys turned: (N, H, d_k, slots).

    Args:
        keys: the source's.
        values: the source's, (N, H, slots, d_v).
        lengths_N: how many of them are real.
    """

    def __init__(self, keys: Tensor, values: Tensor, lengths_N: Tensor) -> None:
        self._source, self.lengths_N = (keys, values), lengths_N
        self._own = (keys[..., :0], values[:, :, :0])
        self.slots = 0

    @property
    def sentences(self) -> int:
        """N: how many sentences are still searched."""
        return len(self.lengths_N)

    @property
    def room(self) -> int:
        """Slots that there is memory for."""
        return self._own[0].shape[3]

    @property
    def own(self) -> tuple[int, ...]:
        """What the kernel is told of what was written: addresses of keys and values, room, slots."""
        keys, values = self._own
        return keys.data_ptr(), values.data_ptr(), self.room, self.slots

    @property
    def source(self) -> tuple[int, ...]:
        """The same of the source."""
        keys, values = self._source
        return keys.data_ptr(), values.data_ptr(), keys.shape[3], keys.shape[3]

    def grow(self, keys: Tensor, values: Tensor) -> None:
        """Go on in this memory, which is larger."""
        old_keys, old_values = self._own
        keys[..., : self.room] = old_keys
        values[:, :, : self.room] = old_values
        self._own = keys, values

    def keep(self, sentences: Tensor) -> None:
        """Go on with these sentences."""
        self.lengths_N = self.lengths_N[sentences]
        self._source, self._own = (
            (keys.index_select(0, sentences), values.index_select(0, sentences))
            for keys, values in (self._source, self._own)
        )

    def compact(self, slots_NM: Tensor) -> None:
        """Keep only these slots of each sentence, in this order."""
        keys, values = self._own
        N, H, d_k, _ = keys.shape
        self.slots = M = slots_NM.shape[1]
        room = -(-M // ALIGNED) * ALIGNED
        fewer = keys.new_zeros(N, H, d_k, room), values.new_zeros(N, H, room, values.shape[3])
        fewer[0][..., :M] = keys.gather(3, slots_NM[:, None, None].expand(-1, H, d_k, -1))
        fewer[1][:, :, :M] = values.gather(2, slots_NM[:, None, :, None].expand(-1, H, -1, values.shape[3]))
        self._own = fewer


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
