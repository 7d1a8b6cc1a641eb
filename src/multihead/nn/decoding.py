"""Cached decoding: key/value caches, and a decoder's state in search."""

from collections.abc import Sequence

import torch
from torch import Tensor


class LayerCache:
    """One decoder layer's key/value cache: source entries per sentence, target entries per hypothesis.

    The target's buffer grows by doubling, so a step writes one column and rarely copies.

    Args:
        source_keys: (N, H, S, d_k).
        source_values: (N, H, S, d_v).
    """

    def __init__(self, source_keys: Tensor, source_values: Tensor) -> None:
        self.source_keys, self.source_values = source_keys, source_values
        self._keys: Tensor | None = None
        self._values: Tensor | None = None
        self.length = 0
        self._evicted = 0

    @property
    def position(self) -> int:
        """The position of the next target token, evicted columns included."""
        return self._evicted + self.length

    @property
    def sentences(self) -> int:
        """N, the number of sentences still searched."""
        return self.source_keys.shape[0]

    @property
    def rows(self) -> int:
        """R, the number of hypotheses; one per sentence before the first step."""
        return self.sentences if self._keys is None else self._keys.shape[0]

    def append(self, k_RHQd: Tensor, v_RHQd: Tensor) -> tuple[Tensor, Tensor]:
        """Append Q positions; return all keys and values, (R, H, length, d_k) and (R, H, length, d_v)."""
        start, self.length = self.length, self.length + k_RHQd.shape[2]
        self._keys = _write(self._keys, k_RHQd, start)
        self._values = _write(self._values, v_RHQd, start)
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def last(self, columns: int) -> "LayerCache":
        """Keep only the last ``columns`` target positions and free the memory of the others."""
        new = LayerCache(self.source_keys, self.source_values)
        window = slice(max(0, self.length - columns), self.length)
        new.length = window.stop - window.start
        new._evicted = self._evicted + window.start
        if self._keys is not None and self._values is not None:
            new._keys, new._values = self._keys[:, :, window].clone(), self._values[:, :, window].clone()
        return new

    def select(self, rows: Tensor) -> "LayerCache":
        """Keep the hypotheses ``rows``, in that order."""
        return self._with(self.source_keys, self.source_values, rows)

    def keep(self, sentences: Tensor, rows: Tensor) -> "LayerCache":
        """Keep only these sentences, and their hypotheses ``rows``."""
        return self._with(
            self.source_keys.index_select(0, sentences), self.source_values.index_select(0, sentences), rows
        )

    def _with(self, source_keys: Tensor, source_values: Tensor, rows: Tensor) -> "LayerCache":
        new = LayerCache(source_keys, source_values)
        new.length, new._evicted = self.length, self._evicted
        if self._keys is not None and self._values is not None:
            new._keys = self._keys.index_select(0, rows)
            new._values = self._values.index_select(0, rows)
        return new


def _write(buffer: Tensor | None, new_RHQd: Tensor, start: int) -> Tensor:
    """Write ``new`` at ``start``, into a buffer twice as long if it was full; return the buffer."""
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
    """Pad sequences on the left with 0: ids (B, longest), and each one's padding, (B,).

    All hypotheses then write their next token to the same column. The padding is None if all lengths agree.
    """
    longest = max(map(len, prefixes))
    ids_BQ = torch.tensor(
        [[0] * (longest - len(p)) + list(p) for p in prefixes], dtype=torch.long, device=device
    )
    shifts = [longest - len(p) for p in prefixes]
    return ids_BQ, torch.tensor(shifts, device=device) if any(shifts) else None


def without_first(x_RQd: Tensor, start: int, shift_R: Tensor | None) -> Tensor:
    """Set the vectors of each row's first position to zero; (R, Q, d).

    Args:
        x_RQd: vectors of the columns start, start + 1, ...
        start: the first of them.
        shift_R: the column of each row's first position; None: 0 everywhere.
    """
    if shift_R is None and start > 0:
        return x_RQd
    columns_Q = torch.arange(start, start + x_RQd.shape[1], device=x_RQd.device)
    first_RQ = columns_Q == (0 if shift_R is None else shift_R[:, None])
    return x_RQd.masked_fill(first_RQ[..., None], 0.0)


class DecoderState:
    """Every layer's cache, and the masks of the steps to come.

    Args:
        caches: one per layer.
        source_allowed: the source's padding mask, (N, 1, 1, S).
        shift_N: left padding of each sentence's prefix, see :func:`left_padded`; None: none.
        reach: columns back that a position attends to at most (restricted self-attention); None: no limit.
        ordered: the layers keep causal order and windows themselves (``keeps_order``); the mask is only that
            of padding.
    """

    def __init__(
        self,
        caches: Sequence[LayerCache],
        source_allowed: Tensor,
        shift_N: Tensor | None = None,
        *,
        reach: int | None = None,
        ordered: bool = False,
    ) -> None:
        self.caches, self.source_allowed, self.shift_N = caches, source_allowed, shift_N
        self.reach, self.ordered = reach, ordered

    @property
    def length(self) -> int:
        """The number of columns held."""
        return self.caches[0].length

    @property
    def position(self) -> int:
        """The column of the next token, evicted columns included."""
        return self.caches[0].position

    def shift_and_mask(self, ids_RQ: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Each row's shift, (R,), and the self-attention mask of the next Q columns.

        The mask is (R or 1, 1, Q, length + Q). The shift is None without padding; the mask is None if every
        column may be attended to.
        """
        (rows, added), start = ids_RQ.shape, self.length
        if self.shift_N is None and (self.ordered or (added == 1 and self.reach is None)):
            return None, None
        columns_K = torch.arange(start + added, device=ids_RQ.device)
        if self.shift_N is not None and self.ordered:
            shift_R = self.shift_N.repeat_interleave(rows // len(self.shift_N))
            return shift_R, (columns_K >= shift_R[:, None])[:, None, None]
        queries_Q = columns_K[start:, None]
        allowed_QK = columns_K <= queries_Q
        if self.reach is not None:
            allowed_QK &= columns_K >= queries_Q - self.reach
        if self.shift_N is None:
            return None, allowed_QK[None, None]
        shift_R = self.shift_N.repeat_interleave(rows // len(self.shift_N))
        # A padding column attends to itself, so that every query has a key; no other column attends to it.
        real_RQK = (columns_K >= shift_R[:, None, None]) | (columns_K == queries_Q)
        return shift_R, (allowed_QK & real_RQK)[:, None]

    def trim(self) -> "DecoderState":
        """The state without columns that are out of reach, once they outnumber the others."""
        if self.reach is None or self.shift_N is not None or self.length <= 2 * self.reach + 1:
            return self
        caches = tuple(cache.last(self.reach) for cache in self.caches)
        return DecoderState(caches, self.source_allowed, reach=self.reach, ordered=self.ordered)

    def select(self, rows: Tensor) -> "DecoderState":
        """See ``search.State``."""
        return DecoderState(
            tuple(cache.select(rows) for cache in self.caches),
            self.source_allowed,
            self.shift_N,
            reach=self.reach,
            ordered=self.ordered,
        )

    def keep(self, sentences: Tensor) -> "DecoderState":
        """See ``search.State``."""
        rows = self._rows_of(sentences)
        return DecoderState(
            tuple(cache.keep(sentences, rows) for cache in self.caches),
            self.source_allowed.index_select(0, sentences),
            None if self.shift_N is None else self.shift_N.index_select(0, sentences),
            reach=self.reach,
            ordered=self.ordered,
        )

    def _rows_of(self, sentences: Tensor) -> Tensor:
        width = self.caches[0].rows // self.caches[0].sentences
        return (sentences[:, None] * width + torch.arange(width, device=sentences.device)).flatten()
