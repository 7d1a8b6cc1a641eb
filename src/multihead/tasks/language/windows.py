"""Batches of running text for language models: windows of the context length."""

from collections.abc import Iterator

import numpy as np
import torch

from multihead.batch import TextBatch
from multihead.data.plan import Indices, shuffle_indices
from multihead.data.stream import START, Stream, StreamPosition
from multihead.errors import UserError
from multihead.system import randomness
from multihead.tasks.language.packed import Ids


class WindowStream(Stream[TextBatch]):
    """Endless stream of batches of windows; see :class:`Stream`.

    An epoch covers the text once, in adjacent windows with a random offset and in random order. Tokens at the
    ends, and windows that do not fill a batch, are skipped; they differ between epochs.

    Args:
        ids: the text, (N,).
        context: number of tokens that a window predicts; a window has one token more.
        batch_tokens: maximum number of predicted tokens in a batch.
        seed: with the epoch, seeds offset and order.
        position: the first batch to yield.

    Raises:
        UserError: the text is shorter than two windows.
    """

    def __init__(
        self, ids: Ids, *, context: int, batch_tokens: int, seed: int, position: StreamPosition = START
    ) -> None:
        if len(ids) < 2 * context + 1:
            raise UserError(
                f"a text of {len(ids):,} tokens is too short for a context of {context:,}",
                place="data.files",
                remedy="Add text, or lower model.context.",
            )
        super().__init__(position)
        self.ids, self.context, self.seed = ids, context, seed
        self.rows = max(1, batch_tokens // context)

    def plan(self, epoch: int) -> list[Indices]:
        """Return the start positions of the windows of each batch of an epoch."""
        offset = randomness.derive(self.seed, "text of epoch", epoch) % self.context
        count = (len(self.ids) - 1 - offset) // self.context
        starts = offset + self.context * shuffle_indices(count, self.seed, "windows of epoch", epoch)
        rows = min(self.rows, count)
        return [starts[i : i + rows] for i in range(0, count - rows + 1, rows)]

    def batch(self, indices: Indices, epoch: int) -> TextBatch:
        """Return the windows that start at ``indices``."""
        return TextBatch(windows_at(self.ids, indices, self.context))


def windows_at(ids: Ids, starts: Indices, context: int) -> torch.Tensor:
    """Return the windows that start at ``starts``, (B, context + 1)."""
    return torch.from_numpy(np.stack([ids[start : start + context + 1] for start in starts]).astype(np.int64))


def evaluation_batches(ids: Ids, *, context: int, batch_tokens: int, most: int) -> Iterator[TextBatch]:
    """Yield a text in adjacent windows, for evaluation; the last window may be shorter.

    Args:
        ids: the text, (N,).
        context: number of tokens predicted in a window, each from the tokens before it in its window.
        batch_tokens: maximum number of predicted tokens in a batch.
        most: maximum total number of predicted tokens, in windows evenly spaced over the text.
    """
    full = (len(ids) - 1) // context
    count = max(1, min(full, most // context))
    starts = np.linspace(0, full - 1, count if full else 0).round().astype(np.int64) * context
    rows = max(1, batch_tokens // context)
    for i in range(0, len(starts), rows):
        yield TextBatch(windows_at(ids, starts[i : i + rows], context))
    if count >= full and len(ids) - 1 > full * context:
        yield TextBatch(torch.from_numpy(ids[full * context :].astype(np.int64))[None])
