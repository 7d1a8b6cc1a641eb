"""Batches of running text: windows of the length that the model sees at once."""

from collections.abc import Iterator

import numpy as np
import torch

from multihead import randomness
from multihead.batch import TextBatch
from multihead.data.packed import Ids
from multihead.data.plan import Indices, shuffled
from multihead.data.stream import START, Position, Stream
from multihead.errors import UserError


class TextStream(Stream[TextBatch]):
    """The endless stream of training batches, each with the position after it.

    An epoch is the whole text once: cut into windows side by side, from a place that chance decides, in an
    order that chance decides. What is left over at the ends, or too little for a batch, comes with the next.

    Args:
        ids: the text, (N,).
        context: how many tokens a window predicts; it holds one more.
        batch_tokens: most tokens to predict in a batch.
        seed: everything random follows from (seed, epoch).
        position: where to begin.

    Raises:
        UserError: the text is shorter than two windows.
    """

    def __init__(
        self, ids: Ids, *, context: int, batch_tokens: int, seed: int, position: Position = START
    ) -> None:
        if len(ids) < 2 * context + 1:
            raise UserError(
                f"a text of {len(ids):,} tokens is too short for a context of {context:,}",
                place="data.files",
                remedy="Give more text, or lower model.context.",
            )
        super().__init__(position)
        self.ids, self.context, self.seed = ids, context, seed
        self.rows = max(1, batch_tokens // context)

    def plan(self, epoch: int) -> list[Indices]:
        """Return where the windows of each batch of an epoch begin."""
        offset = randomness.derive(self.seed, "text of epoch", epoch) % self.context
        count = (len(self.ids) - 1 - offset) // self.context
        starts = offset + self.context * shuffled(count, self.seed, "windows of epoch", epoch)
        rows = min(self.rows, count)
        return [starts[i : i + rows] for i in range(0, count - rows + 1, rows)]

    def batch(self, indices: Indices, epoch: int) -> TextBatch:
        """Return the windows that begin there."""
        return TextBatch(gathered(self.ids, indices, self.context))


def gathered(ids: Ids, starts: Indices, context: int) -> torch.Tensor:
    """Return the windows that begin at ``starts``, (B, context + 1)."""
    return torch.from_numpy(np.stack([ids[start : start + context + 1] for start in starts]).astype(np.int64))


def in_order(ids: Ids, *, context: int, batch_tokens: int, most: int) -> Iterator[TextBatch]:
    """Yield a text once, window by window, to measure on it; the last window may be shorter.

    Args:
        ids: the text, (N,).
        context: tokens predicted in a window; each sees only what stands before it in its window.
        batch_tokens: most tokens to predict in a batch.
        most: predict at most so many tokens, in windows spread over the text.
    """
    whole = (len(ids) - 1) // context
    wanted = max(1, min(whole, most // context))
    starts = np.linspace(0, whole - 1, wanted if whole else 0).round().astype(np.int64) * context
    rows = max(1, batch_tokens // context)
    for i in range(0, len(starts), rows):
        yield TextBatch(gathered(ids, starts[i : i + rows], context))
    if wanted >= whole and len(ids) - 1 > whole * context:
        yield TextBatch(torch.from_numpy(ids[whole * context :].astype(np.int64))[None])
