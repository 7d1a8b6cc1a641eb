"""Key/value cache in fixed-size buffers, so that every step runs the same kernels on the same tensors (GPU).

A sentence's hypotheses share one memory: slot ``t K + k`` holds hypothesis k's position in step t.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from multihead.engines.attention import KeysAndValues
from multihead.engines.layers import LaidOutDecoder
from multihead.nn.description import AttentionSpec, DecoderLayerSpec, StackSpec

SLOTS = 8
"""Numbers of slots are multiples of this: fused attention needs an aligned bias."""


class FixedCache:
    """One decoder layer's key/value cache (``engines.layers.OwnCache``).

    Args:
        source: buffers of the source's keys and values, (B, G, S, d).
        own: buffers of the target's slots, (B, G, T K, d).
        source_bias: 0, or -infinity at padding, (B, 1, 1, S); filled in place.
    """

    def __init__(self, source: KeysAndValues, own: KeysAndValues, source_bias: Tensor) -> None:
        self.source, self._own, self.source_bias = source, own, source_bias
        self._slots_K, self._count = source_bias.new_zeros(0, dtype=torch.long), 0

    def place(self, slots_K: Tensor, count: int) -> None:
        """Set the slots of the next position; its step attends to the first ``count`` slots."""
        self._slots_K, self._count = slots_K, count

    def append(self, k_NGKd: Tensor, v_NGKd: Tensor) -> KeysAndValues:
        """Write keys and values to the slots; return those of the first ``count`` slots."""
        for buffer, new in zip(self._own, (k_NGKd, v_NGKd), strict=True):
            buffer.index_copy_(2, self._slots_K, new)
        return KeysAndValues(*(buffer[:, :, : self._count] for buffer in self._own))


class FixedMemory:
    """The caches of all layers of a decoder.

    Args:
        stack: the decoder's layers.
        sentences: B.
        width: S, a multiple of ``SLOTS``.
        slots: T K, a multiple of ``SLOTS``.
        dtype: format of keys and values.
        device: their device.
    """

    def __init__(
        self,
        stack: StackSpec,
        *,
        sentences: int,
        width: int,
        slots: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.source_bias_BS = torch.zeros(sentences, width, dtype=dtype, device=device)

        def buffers(spec: AttentionSpec, slots: int) -> KeysAndValues:
            shape = sentences, spec.kv_heads, slots
            return KeysAndValues(
                *(torch.zeros(*shape, d, dtype=dtype, device=device) for d in (spec.d_k, spec.d_v))
            )

        def cache(layer: DecoderLayerSpec) -> FixedCache:
            source, target = buffers(layer.cross_attention, width), buffers(layer.self_attention, slots)
            return FixedCache(source, target, self.source_bias_BS[:, None, None])

        self.caches: Sequence[FixedCache] = [cache(layer) for layer in stack.layers]

    def read(self, decoder: LaidOutDecoder, memory_BSd: Tensor) -> None:
        """Write the keys and values of the encoder's output."""
        for layer, cache in zip(decoder.layers, self.caches, strict=True):
            for buffer, new in zip(cache.source, layer.source_keys(memory_BSd), strict=True):
                buffer.copy_(new)

    def place(self, slots_K: Tensor, count: int) -> None:
        """See :meth:`FixedCache.place`, for all layers."""
        for cache in self.caches:
            cache.place(slots_K, count)


def numbers_per_slot(stack: StackSpec) -> int:
    """Return the count of numbers that all layers store per slot."""
    specs = [layer.self_attention for layer in stack.layers]
    return sum(spec.kv_heads * (spec.d_k + spec.d_v) for spec in specs)
