"""Cached decoding: the keys and values that a decoder keeps between steps, and its state in search."""

from collections.abc import Sequence

import torch
from torch import Tensor


class LayerCache:
    """One decoder layer's keys and values: the source's, once a sentence; the target's, once a hypothesis.

    The target's lie in a buffer with room to grow, so that a step writes one column and copies nothing.

    Args:
        source_keys: (N, H, S, d_k).
        source_values: (N, H, S, d_v).
    """

    def __init__(self, source_keys: Tensor, source_values: Tensor) -> None:
        self.source_keys, self.source_values = source_keys, source_values
        self._keys: Tensor | None = None
        self._values: Tensor | None = None
        self.length = 0
        self._forgotten = 0

    @property
    def position(self) -> int:
        """The position of the next target token: of those kept, and of those forgotten before them."""
        return self._forgotten + self.length

    @property
    def sentences(self) -> int:
        """N: how many sentences are still searched."""
        return self.source_keys.shape[0]

    @property
    def rows(self) -> int:
        """R: how many hypotheses there are; before the first step, one a sentence."""
        return self.sentences if self._keys is None else self._keys.shape[0]

    def append(self, k_RHQd: Tensor, v_RHQd: Tensor) -> tuple[Tensor, Tensor]:
        """Add Q positions; return all so far, (R, H, length, d_k) and (R, H, length, d_v)."""
        start, self.length = self.length, self.length + k_RHQd.shape[2]
        self._keys = _written(self._keys, k_RHQd, start)
        self._values = _written(self._values, v_RHQd, start)
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def last(self, columns: int) -> "LayerCache":
        """Only the last so many positions of the target; the others' memory is given back."""
        new = LayerCache(self.source_keys, self.source_values)
        kept = slice(max(0, self.length - columns), self.length)
        new.length = kept.stop - kept.start
        new._forgotten = self._forgotten + kept.start
        if self._keys is not None and self._values is not None:
            new._keys, new._values = self._keys[:, :, kept].clone(), self._values[:, :, kept].clone()
        return new

    def select(self, rows: Tensor) -> "LayerCache":
        """The hypotheses ``rows``, in that order."""
        return self._with(self.source_keys, self.source_values, rows)

    def keep(self, sentences: Tensor, rows: Tensor) -> "LayerCache":
        """Only these sentences, and their hypotheses ``rows``."""
        return self._with(
            self.source_keys.index_select(0, sentences), self.source_values.index_select(0, sentences), rows
        )

    def _with(self, source_keys: Tensor, source_values: Tensor, rows: Tensor) -> "LayerCache":
        new = LayerCache(source_keys, source_values)
        new.length, new._forgotten = self.length, self._forgotten
        if self._keys is not None and self._values is not None:
            new._keys = self._keys.index_select(0, rows)
            new._values = self._values.index_select(0, rows)
        return new


def _written(buffer: Tensor | None, new_RHQd: Tensor, start: int) -> Tensor:
    """The buffer with ``new`` at ``start``; twice as long if it was full."""
    rows, heads, added, width = new_RHQd.shape
    if buffer is None or start + added > buffer.shape[2]:
        room = max(32, 2 * (start + added))
        longer = new_RHQd.new_empty(rows, heads, room, width)
        if buffer is not None:
            longer[:, :, :start] = buffer[:, :, :start]
        buffer = longer
    buffer[:, :, start : start + added] = new_RHQd
    return buffer


def left_padded(prefixes: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor | None]:
    """Sequences set flush right: ids (B, longest), padded with 0, and how far each was shifted, (B,).

    So all hypotheses write their next token in the same column. The shift is None where nothing was shifted.
    """
    longest = max(map(len, prefixes))
    ids_BQ = torch.tensor(
        [[0] * (longest - len(p)) + list(p) for p in prefixes], dtype=torch.long, device=device
    )
    shifts = [longest - len(p) for p in prefixes]
    return ids_BQ, torch.tensor(shifts, device=device) if any(shifts) else None


class DecoderState:
    """Every layer's cache, and what the steps to come may look at.

    Args:
        caches: one a layer.
        source_allowed: which source positions are real, (N, 1, 1, S).
        shift_N: how many empty columns stand before each sentence's prefix, see :func:`left_padded`.
        reach: how many columns back a position may look (restricted self-attention); None: to the first.
    """

    def __init__(
        self,
        caches: Sequence[LayerCache],
        source_allowed: Tensor,
        shift_N: Tensor | None = None,
        *,
        reach: int | None = None,
    ) -> None:
        self.caches, self.source_allowed, self.shift_N = caches, source_allowed, shift_N
        self.reach = reach

    @property
    def length(self) -> int:
        """How many columns have been written."""
        return self.caches[0].length

    def before(self, ids_RQ: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """For Q columns about to be written: each row's shift, (R,), and the mask of their self-attention.

        The mask is (R or 1, 1, Q, length + Q); both are None where there is nothing to tell.
        """
        (rows, added), start = ids_RQ.shape, self.length
        if self.shift_N is None and added == 1 and self.reach is None:
            return None, None
        columns_K = torch.arange(start + added, device=ids_RQ.device)
        queries_Q = columns_K[start:, None]
        allowed_QK = columns_K <= queries_Q
        if self.reach is not None:
            allowed_QK &= columns_K >= queries_Q - self.reach
        if self.shift_N is None:
            return None, allowed_QK[None, None]
        shift_R = self.shift_N.repeat_interleave(rows // len(self.shift_N))
        # An empty column may look at itself, so that no query is without a key; nobody looks at it.
        real_RQK = (columns_K >= shift_R[:, None, None]) | (columns_K == queries_Q)
        return shift_R, (allowed_QK & real_RQK)[:, None]

    def recent(self) -> "DecoderState":
        """The same state without the columns that no later step will look at, if they have become many."""
        if self.reach is None or self.shift_N is not None or self.length <= 2 * self.reach + 1:
            return self
        caches = tuple(cache.last(self.reach) for cache in self.caches)
        return DecoderState(caches, self.source_allowed, reach=self.reach)

    def select(self, rows: Tensor) -> "DecoderState":
        """See ``search.State``."""
        return DecoderState(
            tuple(cache.select(rows) for cache in self.caches),
            self.source_allowed,
            self.shift_N,
            reach=self.reach,
        )

    def keep(self, sentences: Tensor) -> "DecoderState":
        """See ``search.State``."""
        rows = self._rows_of(sentences)
        return DecoderState(
            tuple(cache.keep(sentences, rows) for cache in self.caches),
            self.source_allowed.index_select(0, sentences),
            None if self.shift_N is None else self.shift_N.index_select(0, sentences),
            reach=self.reach,
        )

    def _rows_of(self, sentences: Tensor) -> Tensor:
        each = self.caches[0].rows // self.caches[0].sentences
        return (sentences[:, None] * each + torch.arange(each, device=sentences.device)).flatten()
