"""A Transformer's decoder laid out for search on a GPU: one step over buffers of fixed size.

The same equations as ``nn.layers``, which are the oracle in the tests. Every step is the same sequence of
kernels over the same tensors, so that it can be recorded. A beam is never reordered: a sentence's hypotheses
share one memory of what they wrote (slot ``t K + k``: hypothesis k's in step t), of which each sees its own
ancestors.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.engines.constant_linear import ConstantLinear
from multihead.gpu import kernel
from multihead.nn.layers import DecoderLayer
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.ops import layer_norm, residual_norm
from multihead.nn.residual import PostNorm, PreNorm

SLOTS = 8
"""Slots come in multiples of this: fused attention wants its bias aligned."""


@dataclass(frozen=True, slots=True)
class LayerMemory:
    """One layer's keys and values: of the source (B, H, S, d), of the target's slots (B, H, T K, d)."""

    source_keys: Tensor
    source_values: Tensor
    keys: Tensor
    values: Tensor


class _Around:
    """The residual connection around a sublayer, pre- or post-norm."""

    def __init__(self, residual: PreNorm | PostNorm) -> None:
        self._before, self._norm = isinstance(residual, PreNorm), residual.norm

    def __call__(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self._before:
            return x + sublayer(layer_norm(x, self._norm))
        return residual_norm(x, sublayer(x), self._norm, 0.0)


class _Layer:
    def __init__(self, layer: DecoderLayer, dtype: torch.dtype) -> None:
        own, cross, network = layer.self_attention, layer.cross_attention, layer.feed_forward
        self.own_heads, self.cross_heads = _sizes(own), _sizes(cross)
        self._w_qkv = ConstantLinear.of(dtype, own.w_q, own.w_k, own.w_v)
        self._own_w_o = ConstantLinear.of(dtype, own.w_o)
        self._w_q = ConstantLinear.of(dtype, cross.w_q)
        self._w_kv = ConstantLinear.of(dtype, cross.w_k, cross.w_v)
        self._cross_w_o = ConstantLinear.of(dtype, cross.w_o)
        self._w_1, self._w_2 = ConstantLinear.of(dtype, network.w_1), ConstantLinear.of(dtype, network.w_2)
        self._activation = network.activation
        residuals = (layer.around_self, layer.around_cross, layer.around_feed_forward)
        self._arounds = [_Around(cast(PreNorm | PostNorm, residual)) for residual in residuals]

    def read(self, memory_BSd: Tensor, memory: LayerMemory) -> None:
        """Write the source's keys and values down."""
        heads, d_k, d_v = self.cross_heads
        keys, values = torch.split(self._w_kv(memory_BSd), [heads * d_k, heads * d_v], dim=-1)
        memory.source_keys.copy_(_heads(keys, heads))
        memory.source_values.copy_(_heads(values, heads))

    def step(
        self, x_BKd: Tensor, memory: LayerMemory, slots_K: Tensor, bias: Tensor, source_bias: Tensor
    ) -> Tensor:
        count = bias.shape[-1]

        def look_back(y: Tensor) -> Tensor:
            heads, d_k, d_v = self.own_heads
            sizes = [heads * d_k, heads * d_k, heads * d_v]
            q, k, v = (_heads(part, heads) for part in torch.split(self._w_qkv(y), sizes, dim=-1))
            memory.keys.index_copy_(2, slots_K, k)
            memory.values.index_copy_(2, slots_K, v)
            seen = _attend(q, memory.keys[:, :, :count], memory.values[:, :, :count], bias)
            return self._own_w_o(seen)

        def look_at_source(y: Tensor) -> Tensor:
            q = _heads(self._w_q(y), self.cross_heads[0])
            return self._cross_w_o(_attend(q, memory.source_keys, memory.source_values, source_bias))

        around_own, around_cross, around_feed_forward = self._arounds
        x_BKd = around_cross(around_own(x_BKd, look_back), look_at_source)
        return around_feed_forward(x_BKd, lambda y: self._w_2(self._activation(self._w_1(y))))


class FixedDecoder:
    """A stack of ``nn.DecoderLayer``, the norm at its end and the output layer, for taking steps only.

    Args:
        layers: ``nn.DecoderLayer``, as ``prepared.preparable`` knows them.
        norm: the norm at the end.
        output: the output layer's weight and bias.
        dtype: of everything but scores.
    """

    def __init__(
        self,
        layers: Iterable[nn.Module],
        norm: nn.Module,
        output: tuple[Tensor, Tensor | None],
        dtype: torch.dtype,
    ) -> None:
        self._layers = [_Layer(cast(DecoderLayer, layer), dtype) for layer in layers]
        self._norm = norm
        weight, bias = (None if part is None else part.detach().to(dtype) for part in output)
        assert weight is not None
        self._output = ConstantLinear(weight, bias)
        self._dtype, self._device = dtype, weight.device

    def memory(self, sentences: int, width: int, slots: int) -> list[LayerMemory]:
        """Buffers for so many sentences of this width and slots for what is written of each, one a layer."""

        def empty(places: int, heads: int, d: int) -> Tensor:
            return torch.zeros(sentences, heads, places, d, dtype=self._dtype, device=self._device)

        return [
            LayerMemory(
                *(empty(width, layer.cross_heads[0], d) for d in layer.cross_heads[1:]),
                *(empty(slots, layer.own_heads[0], d) for d in layer.own_heads[1:]),
            )
            for layer in self._layers
        ]

    def numbers_a_slot(self) -> int:
        """Return how many numbers all layers keep for a slot."""
        return sum(heads * (d_k + d_v) for heads, d_k, d_v in (layer.own_heads for layer in self._layers))

    def read(self, memory_BSd: Tensor, memories: Sequence[LayerMemory]) -> None:
        """Write down the keys and values of what the encoder made of the sources."""
        for layer, memory in zip(self._layers, memories, strict=True):
            layer.read(memory_BSd.to(self._dtype), memory)

    def step(
        self,
        x_BKd: Tensor,
        memories: Sequence[LayerMemory],
        slots_K: Tensor,
        bias_BKn: Tensor,
        source_bias_BS: Tensor,
    ) -> Tensor:
        """One position of each sentence's K hypotheses; logits of what may follow each, (B K, V).

        Args:
            x_BKd: what the decoder reads.
            memories: buffers, one a layer; the new keys and values are written into them.
            slots_K: where.
            bias_BKn: 0 for the slots that each hypothesis sees, -infinity for others, of the first n, a
                multiple of ``SLOTS``.
            source_bias_BS: 0 for the real places of each source, -infinity behind them, S likewise.
        """
        source_bias_B1S = source_bias_BS[:, None]
        for layer, memory in zip(self._layers, memories, strict=True):
            x_BKd = layer.step(x_BKd, memory, slots_K, bias_BKn, source_bias_B1S)
        return self._output(self._norm(x_BKd)).flatten(0, 1)


def _sizes(attention: MultiHeadAttention) -> tuple[int, int, int]:
    """h, d_k, d_v."""
    heads = attention.num_heads
    return heads, attention.w_k.out_features // heads, attention.w_v.out_features // heads


def _heads(x_BNe: Tensor, heads: int) -> Tensor:
    """(B, N, H d) to (B, H, N, d)."""
    B, N, _ = x_BNe.shape
    return x_BNe.view(B, N, heads, -1).transpose(1, 2)


def _attend(q: Tensor, k: Tensor, v: Tensor, bias_BKn: Tensor) -> Tensor:
    """The heads side by side, (B, K, H d_v); see ``nn.attention.attention``."""
    triton = kernel("engines.cuda.triton_step_attention", q, k, v)
    seen: Tensor
    if triton is not None and triton.suits(q, v):
        seen = triton.attend(q, k, v, bias_BKn)
    else:
        bias = bias_BKn[:, None].expand(q.shape[0], q.shape[1], q.shape[2], -1)
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    return seen.transpose(1, 2).flatten(2)
