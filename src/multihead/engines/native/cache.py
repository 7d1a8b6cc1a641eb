"""Key/value cache of the native decoder (``native/search_layers.h``)."""

import torch
from torch import Tensor

from multihead import native

ALIGNED = 16
"""Slots and values are padded to multiples of this, the number of floats in the widest register."""


class NativeCache:
    """As ``engines.shared_cache.SharedCache``, for all layers, with transposed keys.

    Keys are (L, N, H, d_k, room) and values (L, N, H, room, padded d_v), for the source and for the target.

    Args:
        heads: L, N and H.
        d_k: width of a key.
        d_v: width of a value.
        source: S, the padded length of the sources.
        lengths_N: their true lengths.
        dtype: of the matrices; with int8, keys and values are in bf16.
    """

    def __init__(
        self,
        heads: tuple[int, int, int],
        d_k: int,
        d_v: int,
        source: int,
        lengths_N: Tensor,
        dtype: torch.dtype,
    ) -> None:
        kept = torch.bfloat16 if dtype == torch.int8 else dtype
        S = _aligned(source)
        keys = torch.empty(*heads, d_k, S, dtype=kept)
        values = torch.empty(*heads, S, _aligned(d_v), dtype=kept)
        self._source, self.lengths_N = (keys, values), lengths_N
        self._own = (keys[..., :0], values[..., :0, :])
        self.slots = 0

    @property
    def sentences(self) -> int:
        """N, the number of sentences still searched."""
        return len(self.lengths_N)

    @property
    def room(self) -> int:
        """Capacity in slots."""
        return self._own[0].shape[-1]

    @property
    def own(self) -> tuple[int, ...]:
        """The kernels' arguments for the target: addresses of keys and values, room, slots, sentences."""
        keys, values = self._own
        return keys.data_ptr(), values.data_ptr(), self.room, self.slots, keys.shape[1]

    @property
    def source(self) -> tuple[int, ...]:
        """The kernels' arguments for the source, in the same order."""
        keys, values = self._source
        return keys.data_ptr(), values.data_ptr(), keys.shape[-1], keys.shape[-1], keys.shape[1]

    def reserve(self, slots: int) -> None:
        """Ensure a capacity of this many slots; grow to twice that if it is too small."""
        if slots > self.room:
            self._own = self._larger(_aligned(2 * slots))

    def keep(self, sentences: Tensor) -> None:
        """Keep these sentences only."""
        self.lengths_N = self.lengths_N[sentences]
        self._source, self._own = (
            (keys.index_select(1, sentences), values.index_select(1, sentences))
            for keys, values in (self._source, self._own)
        )

    def refill(self, holes: Tensor, fillers: Tensor, sentences: int) -> None:
        """Move the sentences ``fillers`` to ``holes``, and keep the first ``sentences``."""
        for part in (*self._source, *self._own):
            layers, size = part.shape[:2], part[0, 0].numel() * part.element_size()
            native.call("refill", part.dtype, part, *layers, size, holes, fillers, len(holes))
        self.lengths_N = self.lengths_N.index_copy(0, holes, self.lengths_N[fillers])[:sentences]

    def compact(self, slots_NM: Tensor) -> None:
        """Keep only these slots of each sentence, in this order."""
        self.slots = M = slots_NM.shape[1]
        keys, values = (part[:, : self.sentences] for part in self._own)
        L, N, H, d_k, _ = keys.shape
        self._own = (
            keys.gather(4, slots_NM[:, None, None].expand(L, N, H, d_k, M)),
            values.gather(3, slots_NM[:, None, :, None].expand(L, N, H, M, values.shape[-1])),
        )
        self._own = self._larger(_aligned(M))

    def _larger(self, room: int) -> tuple[Tensor, Tensor]:
        """Copy the target's keys and values to larger buffers, zero-padded to a multiple of ``ALIGNED``."""
        keys, values = (part[:, : self.sentences] for part in self._own)
        larger = (
            keys.new_empty(*keys.shape[:-1], room),
            values.new_empty(*values.shape[:-2], room, values.shape[-1]),
        )
        larger[0][..., : self.room] = keys
        larger[0][..., self.room : _aligned(self.room)] = 0
        larger[1][..., : self.room, :] = values
        return larger


def _aligned(count: int) -> int:
    return -(-count // ALIGNED) * ALIGNED
