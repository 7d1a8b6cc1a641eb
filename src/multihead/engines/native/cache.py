"""Keys and values of the native decoder (``native/search_layers.h``)."""

import torch
from torch import Tensor

from multihead import native

ALIGNED = 16
"""Slots and values are padded to multiples of this, the floats of the widest register."""


class NativeCache:
    """As ``engines.shared_cache.SharedCache``, for all layers, and with keys turned.

    Keys are (L, N, H, d_k, room), values (L, N, H, room, d_v padded), of the source and of what was written.

    Args:
        heads: L, N and H.
        d_k: width of a key.
        d_v: width of a value.
        source: S, positions of the source that there is to be memory for.
        lengths_N: how many of them are real.
        dtype: of the matrices; keys and values are bf16 beside int8.
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
        """N: how many sentences are still searched."""
        return len(self.lengths_N)

    @property
    def room(self) -> int:
        """Slots that there is memory for."""
        return self._own[0].shape[-1]

    @property
    def own(self) -> tuple[int, ...]:
        """What kernels are told of what was written: addresses of keys and values, room, slots, sentences."""
        keys, values = self._own
        return keys.data_ptr(), values.data_ptr(), self.room, self.slots, keys.shape[1]

    @property
    def source(self) -> tuple[int, ...]:
        """The same of the source."""
        keys, values = self._source
        return keys.data_ptr(), values.data_ptr(), keys.shape[-1], keys.shape[-1], keys.shape[1]

    def reserve(self, slots: int) -> None:
        """Have memory for so many slots; where there is too little, twice as much is taken."""
        if slots > self.room:
            self._own = self._larger(_aligned(2 * slots))

    def keep(self, sentences: Tensor) -> None:
        """Go on with these sentences."""
        self.lengths_N = self.lengths_N[sentences]
        self._source, self._own = (
            (keys.index_select(1, sentences), values.index_select(1, sentences))
            for keys, values in (self._source, self._own)
        )

    def refill(self, holes: Tensor, fillers: Tensor, sentences: int) -> None:
        """Go on with the first so many sentences, where fillers have taken the places of holes."""
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
        """What was written, with room for more; zeros behind it, up to a multiple of ``ALIGNED``."""
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
