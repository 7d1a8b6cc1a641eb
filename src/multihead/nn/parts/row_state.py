"""Search state of a decoder with a fixed number of state tensors (``search.State``)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class RowState:
    """The encoded source, shared by a sentence's hypotheses, and each hypothesis's own state.

    Attributes:
        sentences: N, the number of sentences still searched.
        source: tensors that a sentence's hypotheses share, each (N, ...).
        own: tensors of the hypotheses, each (R, ...).
    """

    sentences: int
    source: tuple[Tensor, ...]
    own: tuple[Tensor, ...]

    def select(self, rows: Tensor) -> "RowState":
        """See ``search.State``."""
        return replace(self, own=tuple(part.index_select(0, rows) for part in self.own))

    def keep(self, sentences: Tensor) -> "RowState":
        """See ``search.State``."""
        width = len(self.own[0]) // self.sentences
        rows = (sentences[:, None] * width + torch.arange(width, device=sentences.device)).flatten()
        source = tuple(part.index_select(0, sentences) for part in self.source)
        return RowState(len(sentences), source, self.select(rows).own)


Advance = Callable[[Tensor, RowState], RowState]
"""(tokens (R,), state) -> the state after them."""


def read_prefixes(advance: Advance, state: RowState, prefixes: Sequence[Sequence[int]]) -> RowState:
    """Read all of each prefix but its last token; prefixes may differ in length.

    Args:
        advance: reads one token per row.
        state: the state before the first token, one row per sentence.
        prefixes: one per sentence.
    """
    device = state.own[0].device
    for position in range(max(map(len, prefixes)) - 1):
        reads = [position < len(prefix) - 1 for prefix in prefixes]
        tokens = [prefix[position] if more else 0 for prefix, more in zip(prefixes, reads, strict=True)]
        after = advance(torch.tensor(tokens, device=device), state)
        reads_B = torch.tensor(reads, device=device)
        arrays = tuple(
            torch.where(reads_B.view(-1, *[1] * (new.dim() - 1)), new, old)
            for new, old in zip(after.own, state.own, strict=True)
        )
        state = replace(state, own=arrays)
    return state
