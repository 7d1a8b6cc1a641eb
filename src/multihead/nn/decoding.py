"""The state of a decoder with keys and values cached, as search sees it (``search.State``)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from multihead.nn.cache import LayerCache


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
