"""Key/value cache of the native decoder (``native/search_layers.h``)."""

from typing import Any

import numpy as np

from multihead.system import native_library as native
from multihead.system.native_library import Array, Format

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
        number_format: the matrices' format; with int8, keys and values are in bf16.
    """

    def __init__(
        self,
        heads: tuple[int, int, int],
        d_k: int,
        d_v: int,
        source: int,
        lengths_N: Array,
        number_format: Format,
    ) -> None:
        dtype: Any = np.float32 if number_format == "float32" else np.uint16
        self._format: Format = "float32" if number_format == "float32" else "bfloat16"
        S = _align(source)
        keys = np.empty((*heads, d_k, S), dtype)
        values = np.empty((*heads, S, _align(d_v)), dtype)
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
        room: int = self._own[0].shape[-1]
        return room

    @property
    def own(self) -> tuple[int, ...]:
        """The kernels' arguments for the target: addresses of keys and values, room, slots, sentences."""
        keys, values = self._own
        return native.array_address(keys), native.array_address(values), self.room, self.slots, keys.shape[1]

    @property
    def source(self) -> tuple[int, ...]:
        """The kernels' arguments for the source, in the same order."""
        keys, values = self._source
        return (
            native.array_address(keys),
            native.array_address(values),
            keys.shape[-1],
            keys.shape[-1],
            keys.shape[1],
        )

    def reserve(self, slots: int) -> None:
        """Ensure a capacity of this many slots; grow to twice that if it is too small."""
        if slots > self.room:
            self._own = self._larger(_align(2 * slots))

    def keep(self, sentences: Any) -> None:
        """Keep these sentences only; an array or a tensor of their numbers."""
        sentences = np.asarray(sentences)
        self.lengths_N = self.lengths_N[sentences]
        self._source, self._own = (
            (np.take(keys, sentences, axis=1), np.take(values, sentences, axis=1))
            for keys, values in (self._source, self._own)
        )

    def refill(self, holes: Array, fillers: Array, sentences: int) -> None:
        """Move the sentences ``fillers`` to ``holes``, and keep the first ``sentences``."""
        for part in (*self._source, *self._own):
            layers, size = part.shape[:2], part[0, 0].nbytes
            native.call("refill", self._format, part, *layers, size, holes, fillers, len(holes))
        lengths_N = self.lengths_N.copy()
        lengths_N[holes] = lengths_N[fillers]
        self.lengths_N = lengths_N[:sentences]

    def compact(self, slots_NM: Any) -> None:
        """Keep only these slots of each sentence, in this order; an array or a tensor of their numbers."""
        slots_NM = np.asarray(slots_NM)
        self.slots = M = slots_NM.shape[1]
        keys, values = (part[:, : self.sentences] for part in self._own)
        self._own = (
            np.take_along_axis(keys, slots_NM[None, :, None, None], axis=4),
            np.take_along_axis(values, slots_NM[None, :, None, :, None], axis=3),
        )
        self._own = self._larger(_align(M))

    def _larger(self, room: int) -> tuple[Array, Array]:
        """Copy the target's keys and values to larger buffers, zero-padded to a multiple of ``ALIGNED``."""
        keys, values = (part[:, : self.sentences] for part in self._own)
        larger = (
            np.empty((*keys.shape[:-1], room), keys.dtype),
            np.empty((*values.shape[:-2], room, values.shape[-1]), values.dtype),
        )
        larger[0][..., : self.room] = keys
        larger[0][..., self.room : _align(self.room)] = 0
        larger[1][..., : self.room, :] = values
        return larger


def _align(count: int) -> int:
    return -(-count // ALIGNED) * ALIGNED
