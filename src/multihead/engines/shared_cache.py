"""Keys and values that the hypotheses of a sentence keep together, and who of them sees which."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

LOOK = 8
"""Steps after which it is looked whether slots can be dropped: looking costs a little, dropping more."""


class Keys(NamedTuple):
    """Keys (N, H, K, d_k) and values (N, H, K, d_v), in float32."""

    k: Tensor
    v: Tensor

    def at(self, sentences: Tensor) -> "Keys":
        """Those of these sentences."""
        return Keys(self.k.index_select(0, sentences), self.v.index_select(0, sentences))


class Cache(Protocol):
    """What a state knows of a layer's cache."""

    slots: int
    """How many were written for each sentence."""

    @property
    def sentences(self) -> int:
        """N: how many sentences are still searched."""
        ...

    def keep(self, sentences: Tensor) -> None:
        """Go on with these sentences."""
        ...

    def compact(self, slots_NM: Tensor) -> None:
        """Keep only these slots of each sentence, in this order."""
        ...


class SharedCache:
    """One decoder layer's keys and values: the source's, and every slot that a hypothesis has written.

    A slot stays where it was written. Which of them are a hypothesis's own past is told by the state.

    Args:
        source: of the encoder's output.
        source_bias: 0 or -infinity for each source position, (N, 1, 1, S); None: all are real.
    """

    def __init__(self, source: Keys, source_bias: Tensor | None) -> None:
        self.source, self.source_bias = source, source_bias
        self.slots = 0
        self._buffers: tuple[Tensor, Tensor] | None = None

    @property
    def sentences(self) -> int:
        """N: how many sentences are still searched."""
        return len(self.source.k)

    def append(self, k_NKHd: Tensor, v_NKHd: Tensor) -> Keys:
        """Add a slot for each of a sentence's K hypotheses; return all keys and values so far."""
        start, self.slots = self.slots, self.slots + k_NKHd.shape[1]
        if self._buffers is None or self.slots > self._buffers[0].shape[2]:
            self._buffers = self._longer(k_NKHd, v_NKHd, start)
        for buffer, new in zip(self._buffers, (k_NKHd, v_NKHd), strict=True):
            buffer[:, :, start : self.slots] = new.transpose(1, 2)
        return self._keys()

    def keep(self, sentences: Tensor) -> None:
        """Go on with these sentences."""
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

    def _keys(self) -> Keys:
        assert self._buffers is not None
        k, v = self._buffers
        return Keys(k[:, :, : self.slots], v[:, :, : self.slots])

    def _longer(self, k_NKHd: Tensor, v_NKHd: Tensor, written: int) -> tuple[Tensor, Tensor]:
        N, K, H, _ = k_NKHd.shape
        room = max(16 * K, 2 * self.slots)
        k, v = (torch.empty(N, H, room, new.shape[3]) for new in (k_NKHd, v_NKHd))
        if self._buffers is not None:
            for buffer, old in zip((k, v), self._buffers, strict=True):
                buffer[:, :, :written] = old[:, :, :written]
        return k, v


@dataclass(frozen=True, slots=True)
class SharedState:
    """A decoder's caches and whose slots are whose (``search.State``). The caches are written in place.

    Attributes:
        caches: one a layer.
        rows: K, hypotheses of each sentence.
        columns: how many tokens each hypothesis has written, empty places before shorter prefixes counted.
        bias: 0 where a slot is of the hypothesis's own past, else -infinity, (N, K, slots); None: all are.
        shift_N: how many empty columns stand before each sentence's prefix; None: nowhere any.
    """

    caches: Sequence[Cache]
    rows: int
    columns: int
    bias: Tensor | None
    shift_N: Tensor | None

    @property
    def sentences(self) -> int:
        """N: how many sentences are still searched."""
        return self.caches[0].sentences

    def stepped(self) -> "SharedState":
        """With one more slot for each hypothesis, which only it sees."""
        N, K, slots = self.sentences, self.rows, self.caches[0].slots
        bias = self.bias
        if K > 1 or bias is not None:
            own_KK = torch.full((K, K), -torch.inf).fill_diagonal_(0.0).expand(N, K, K)
            past = torch.zeros(N, K, slots) if bias is None else bias
            bias = torch.cat([past, own_KK], dim=2)
        return SharedState(self.caches, K, self.columns + 1, bias, self.shift_N)

    def select(self, rows: Tensor) -> "SharedState":
        """See ``search.State``: whose past is whose changes hands, keys and values stay where they are."""
        each = len(rows) // self.sentences
        if self.bias is None:
            return replace(self, rows=each)
        bias = self.bias.flatten(0, 1).index_select(0, rows).view(self.sentences, each, -1)
        return replace(self, rows=each, bias=self._compacted(bias))

    def keep(self, sentences: Tensor) -> "SharedState":
        """See ``search.State``."""
        for cache in self.caches:
            cache.keep(sentences)
        bias, shift_N = (
            None if part is None else part.index_select(0, sentences) for part in (self.bias, self.shift_N)
        )
        return replace(self, bias=bias, shift_N=shift_N)

    def _compacted(self, bias: Tensor) -> Tensor:
        """Drop slots that are nobody's past any more, where that makes the memory much smaller."""
        # Hypotheses soon have the same ancestors, so most slots come to be nobody's.
        slots_NM = None if self.columns % LOOK else slots_in_use(bias)
        if slots_NM is None:
            return bias
        for cache in self.caches:
            cache.compact(slots_NM)
        return bias.gather(2, slots_NM[:, None].expand(-1, bias.shape[1], -1))


def slots_in_use(bias_NKS: Tensor) -> Tensor | None:
    """The slots that somebody sees, in order, as many for each sentence, (N, M); None: not worth dropping."""
    used_NS = (bias_NKS == 0).any(1)
    most = int(used_NS.sum(1).max())
    if 2 * most > bias_NKS.shape[2]:
        return None
    return used_NS.byte().argsort(dim=1, descending=True, stable=True)[:, :most]
