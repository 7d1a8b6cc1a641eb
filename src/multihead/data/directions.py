"""Combines translation directions into one set of pairs: stores with tags before sources, concatenated."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from multihead.data.batches import BatchStream, Ids, Pairs
from multihead.data.mixing import draw_epoch
from multihead.data.plan import EpochPlan, Indices


class Directed:
    """The pairs of a store in one direction, with tags before each source.

    Args:
        store: pairs as token ids without tags.
        tags: ids of the tags.
        backwards: translate from the store's target to its source.
    """

    def __init__(self, store: Pairs, tags: Sequence[int], *, backwards: bool = False) -> None:
        self._tags = np.array(tags, dtype=np.int64)
        self._source, self._target = store.source, store.target
        self.lines, self.folder = getattr(store, "lines", None), getattr(store, "folder", None)
        sources, targets = store.source_lengths, store.target_lengths
        if backwards:
            self._source, self._target = self._target, self._source
            sources, targets = targets, sources
        self.source_lengths, self.target_lengths = sources + np.int32(len(tags)), targets

    def __len__(self) -> int:
        return len(self.target_lengths)

    def source(self, index: int) -> Ids:
        """Return the ids of the tags and the source."""
        return np.concatenate([self._tags, self._source(index)])

    def target(self, index: int) -> Ids:
        """Return the token ids of a target."""
        return self._target(index)


class Joined:
    """The concatenation of several sets of pairs."""

    def __init__(self, parts: Sequence[Pairs]) -> None:
        self._parts = tuple(parts)
        self._ends = np.cumsum([len(part) for part in parts])
        self.folder = getattr(parts[0], "folder", None)
        self.source_lengths = np.concatenate([part.source_lengths for part in parts])
        self.target_lengths = np.concatenate([part.target_lengths for part in parts])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def source(self, index: int) -> Ids:
        """Return the token ids of a source."""
        part, index = self._place(index)
        return part.source(index)

    def target(self, index: int) -> Ids:
        """Return the token ids of a target."""
        part, index = self._place(index)
        return part.target(index)

    def line(self, index: int) -> tuple[int, int]:
        """Return the number of a pair's set, from 0, and its line there, 0 if unknown."""
        number = int(np.searchsorted(self._ends, index, side="right"))
        part, index = self._place(index)
        lines = getattr(part, "lines", None)
        return number, 0 if lines is None else int(lines[index])

    def _place(self, index: int) -> tuple[Pairs, int]:
        number = int(np.searchsorted(self._ends, index, side="right"))
        part = self._parts[number]
        return part, index - int(self._ends[number]) + len(part)


class MixedStream(BatchStream):
    """Endless stream of batches that mix several sets of pairs.

    Args:
        parts: the sets.
        counts: pairs of each in an epoch, see ``mixing.shares``.
        seed: with the epoch, seeds the choice and the order.
        labels: names of the sets, for messages.
        options: see ``BatchStream``.
    """

    def __init__(
        self,
        parts: Sequence[Pairs],
        counts: Sequence[int],
        *,
        seed: int,
        labels: Sequence[str] = (),
        **options: Any,
    ) -> None:
        self._joined = Joined(parts)
        super().__init__(self._joined, seed=seed, **options)
        self._labels = labels or [f"set {number}" for number in range(1, len(parts) + 1)]
        self._sizes, self._counts = [len(part) for part in parts], tuple(counts)

    def plan(self, epoch: int) -> EpochPlan:
        """Return the batches of an epoch as arrays of pair indices; a pair may occur several times."""
        return self._plan(epoch, draw_epoch(self._sizes, self._counts, self._seed, epoch))

    def names(self, indices: Indices) -> list[str]:
        """Return the set and the line of each pair; see :meth:`Stream.names`."""
        return [f"{self._labels[part]}:{line}" for part, line in map(self._joined.line, indices.tolist())]
