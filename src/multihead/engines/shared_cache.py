"""Key/value cache shared by a sentence's hypotheses; the search state records each hypothesis's slots."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from multihead.engines.attention import KeysAndValues
from multihead.engines.native.beam import CHECK_EVERY


class Cache(Protocol):
    """A layer's cache, as the search state uses it."""

    slots: int
    """Number of slots written for each sentence."""

    @property
    def sentences(self) -> int:
        """N, the number of sentences still searched."""
        ...

    def keep(self, sentences: Tensor) -> None:
        """Drop all other sentences."""
        ...

    def compact(self, slots_NM: Tensor) -> None:
        """Keep only these slots of each sentence, in this order."""
        ...


class SharedCache:
    """One decoder layer's key/value cache: the source, and a slot for every token that a hypothesis wrote.

    Slots never move. The state records each hypothesis's slots.

    Args:
        source: keys and values of the encoder's output.
        source_bias: 0, or -infinity at padding, (N, 1, 1, S); None: no padding.
    """

    def __init__(self, source: KeysAndValues, source_bias: Tensor | None) -> None:
        self.source, self.source_bias = source, source_bias
        self.slots = 0
        self._buffers: tuple[Tensor, Tensor] | None = None

    @property
    def sentences(self) -> int:
        """N, the number of sentences still searched."""
        return len(self.source.k)

    @property
    def own(self) -> KeysAndValues | None:
        """All keys and values of the target so far; None: none."""
        return None if self._buffers is None else self._keys()

    def append(self, k_NGKd: Tensor, v_NGKd: Tensor) -> KeysAndValues:
        """Append a slot for each of a sentence's K hypotheses; return all keys and values."""
        start, self.slots = self.slots, self.slots + k_NGKd.shape[2]
        if self._buffers is None or self.slots > self._buffers[0].shape[2]:
            self._buffers = self._longer(k_NGKd, v_NGKd, start)
        for buffer, new in zip(self._buffers, (k_NGKd, v_NGKd), strict=True):
            buffer[:, :, start : self.slots] = new
        return self._keys()

    def keep(self, sentences: Tensor) -> None:
        """Drop all other sentences."""
        self.source = self.source.at(sentences)
        if self.source_bias is not None:
            self.source_bias = self.source_bias.index_select(0, sentences)
        if self._buffers is not None:
            self._buffers = self._keys().at(sentences)

    def compact(self, slots_NM: Tensor) -> None:
        """Keep only these slots of each sentence, in this order."""
        if self._buffers is None:
            return
        first, second = (
            part.gather(2, slots_NM[:, None, :, None].expand(-1, part.shape[1], -1, part.shape[3]))
            for part in self._keys()
        )
        self._buffers, self.slots = (first, second), slots_NM.shape[1]

    def _keys(self) -> KeysAndValues:
        assert self._buffers is not None
        k, v = self._buffers
        return KeysAndValues(k[:, :, : self.slots], v[:, :, : self.slots])

    def _longer(self, k_NGKd: Tensor, v_NGKd: Tensor, written: int) -> tuple[Tensor, Tensor]:
        N, G, K, _ = k_NGKd.shape
        room = max(16 * K, 2 * self.slots)
        k, v = (torch.empty(N, G, room, new.shape[3]) for new in (k_NGKd, v_NGKd))
        if self._buffers is not None:
            for buffer, old in zip((k, v), self._buffers, strict=True):
                buffer[:, :, :written] = old[:, :, :written]
        return k, v


@dataclass(frozen=True, slots=True)
class SharedState:
    """A decoder's caches and each hypothesis's slots (``search.State``). The caches are modified in place.

    Attributes:
        caches: one per layer.
        rows: K, the number of hypotheses of each sentence.
        columns: the number of columns written, left padding of prefixes included.
        bias: 0 if a slot is the hypothesis's ancestor, else -infinity, (N, K, slots); None: all are.
        shift_N: left padding of each sentence's prefix; None: none.
    """

    caches: Sequence[Cache]
    rows: int
    columns: int
    bias: Tensor | None
    shift_N: Tensor | None

    @property
    def sentences(self) -> int:
        """N, the number of sentences still searched."""
        return self.caches[0].sentences

    def advance(self) -> "SharedState":
        """Return the state with a new slot for each hypothesis, visible to it alone."""
        N, K, slots = self.sentences, self.rows, self.caches[0].slots
        bias = self.bias
        if K > 1 or bias is not None:
            own_KK = torch.full((K, K), -torch.inf).fill_diagonal_(0.0).expand(N, K, K)
            past = torch.zeros(N, K, slots) if bias is None else bias
            bias = torch.cat([past, own_KK], dim=2)
        return SharedState(self.caches, K, self.columns + 1, bias, self.shift_N)

    def select(self, rows: Tensor) -> "SharedState":
        """See ``search.State``: only the record of slots changes; keys and values do not move."""
        width = len(rows) // self.sentences
        if self.bias is None:
            return replace(self, rows=width)
        bias = self.bias.flatten(0, 1).index_select(0, rows).view(self.sentences, width, -1)
        return replace(self, rows=width, bias=self._compact(bias))

    def keep(self, sentences: Tensor) -> "SharedState":
        """See ``search.State``."""
        for cache in self.caches:
            cache.keep(sentences)
        bias, shift_N = (
            None if part is None else part.index_select(0, sentences) for part in (self.bias, self.shift_N)
        )
        return replace(self, bias=bias, shift_N=shift_N)

    def _compact(self, bias: Tensor) -> Tensor:
        """Drop slots that no hypothesis uses, if that saves at least half of the memory."""
        # Hypotheses soon share most ancestors, so most slots fall out of use.
        slots_NM = None if self.columns % CHECK_EVERY else slots_in_use(bias)
        if slots_NM is None:
            return bias
        for cache in self.caches:
            cache.compact(slots_NM)
        return bias.gather(2, slots_NM[:, None].expand(-1, bias.shape[1], -1))


def slots_in_use(bias_NKS: Tensor) -> Tensor | None:
    """Slots that some hypothesis uses, in order, (N, M), M the most of any sentence; None: keep all slots."""
    used_NS = (bias_NKS == 0).any(1)
    most = int(used_NS.sum(1).max())
    if 2 * most > bias_NKS.shape[2]:
        return None
    return used_NS.byte().argsort(dim=1, descending=True, stable=True)[:, :most]


def source_bias(lengths_N: Tensor, width: int) -> Tensor | None:
    """0 at real positions of the sources, -infinity at padding, (N, 1, 1, S); None: no padding."""
    padding_NS = torch.arange(width) >= lengths_N[:, None]
    if not bool(padding_NS.any()):
        return None
    return torch.zeros(padding_NS.shape).masked_fill_(padding_NS, -torch.inf)[:, None, None]
