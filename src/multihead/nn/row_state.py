"""The state of a decoder that remembers a fixed number of tensors, as search sees it (``search.State``)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class RowState:
    """What was read of the source, and what each hypothesis has made of it.

    Attributes:
        sentences: N, how many sentences are still searched.
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
        each = len(self.own[0]) // self.sentences
        rows = (sentences[:, None] * each + torch.arange(each, device=sentences.device)).flatten()
        source = tuple(part.index_select(0, sentences) for part in self.source)
        return RowState(len(sentences), source, self.select(rows).own)


Advance = Callable[[Tensor, RowState], RowState]
"""(tokens (R,), state) -> the state after them."""


def read_prefixes(advance: Advance, state: RowState, prefixes: Sequence[Sequence[int]]) -> RowState:
    """Read all of each prefix but its last token; the prefixes may be of different lengths.

    Args:
        advance: reads one token a row.
        state: before the first token, one row a sentence.
        prefixes: one a sentence.
    """
    device = state.own[0].device
    for place in range(max(map(len, prefixes)) - 1):
        reads = [place < len(prefix) - 1 for prefix in prefixes]
        tokens = [prefix[place] if more else 0 for prefix, more in zip(prefixes, reads, strict=True)]
        after = advance(torch.tensor(tokens, device=device), state)
        reads_B = torch.tensor(reads, device=device)
        own = tuple(
            torch.where(reads_B.view(-1, *[1] * (new.dim() - 1)), new, old)
            for new, old in zip(after.own, state.own, strict=True)
        )
        state = replace(state, own=own)
    return state
