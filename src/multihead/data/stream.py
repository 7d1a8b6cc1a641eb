"""Endless stream of training batches that can be resumed from a position."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from multihead.batch import Batch
from multihead.data.plan import Indices

B = TypeVar("B", bound=Batch, covariant=True)


@dataclass(frozen=True, slots=True, order=True)
class StreamPosition:
    """Position in the stream: the epoch and number of the next batch."""

    epoch: int = 0
    batch: int = 0


START = StreamPosition()


class Stream(ABC, Generic[B]):
    """Endless stream of training batches, each with the position after it.

    A stream that starts at a position yields exactly what an uninterrupted stream yields from there, so a
    resumed run needs nothing but the position. Batches are made independently of each other, so several
    processes can share the work.

    Args:
        position: the first batch to yield.
    """

    def __init__(self, position: StreamPosition = START) -> None:
        self.position = position
        self._planned: tuple[int, Sequence[Indices]] | None = None

    @abstractmethod
    def plan(self, epoch: int) -> Sequence[Indices]:
        """Return the indices of each batch of an epoch; at least one batch."""

    def cached_plan(self, epoch: int) -> Sequence[Indices]:
        """Return :meth:`plan`, cached for the latest epoch: planning millions of examples takes long."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = epoch, self.plan(epoch)
        return self._planned[1]

    @abstractmethod
    def batch(self, indices: Indices, epoch: int) -> B:
        """Make a batch; a function of its arguments."""

    def largest(self) -> B:
        """Return the largest batch, for a memory test; by default the first, as all have one size."""
        return self.batch(self.cached_plan(0)[0], 0)

    def names(self, indices: Indices) -> list[str]:
        """Return names of the examples at ``indices``, for messages."""
        return [f"example {index}" for index in indices.tolist()]

    def batches_an_epoch(self) -> int:
        """Return the number of batches in the first epoch."""
        return len(self.cached_plan(0))

    def __iter__(self) -> Iterator[tuple[B, StreamPosition]]:
        return self.shard(0, 1)

    def shard(self, index: int, count: int) -> Iterator[tuple[B, StreamPosition]]:
        """Yield every ``count``-th batch, starting with number ``index`` (from 0); skip the others."""
        position = self.position
        numbers = itertools.count()
        while True:
            batches, epoch = self.cached_plan(position.epoch), position.epoch
            assert position.batch < len(batches), f"{position} is not a position of this stream"
            for place in range(position.batch, len(batches)):
                last = place + 1 == len(batches)
                position = StreamPosition(epoch + 1) if last else StreamPosition(epoch, place + 1)
                if next(numbers) % count == index:
                    self.position = position
                    yield self.batch(batches[place], epoch), position
