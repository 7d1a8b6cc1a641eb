"""The order in which pictures are trained on, of which a position is enough to go on from."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from multihead.data.batches import Position, walked
from multihead.data.plan import Indices, shuffled

START = Position()
Batch = TypeVar("Batch")


class PictureStream(Generic[Batch]):
    """The endless stream of training batches, each with the position after it.

    A stream that starts at a position gives exactly what a stream from the beginning gives from there on. The
    pictures of an epoch that fill no batch are left out of it; they are others each time.

    Args:
        count: how many pictures there are.
        make: (indices of pictures, epoch) to their batch, the same for the same.
        batch_pictures: how many a batch.
        seed: the order follows from (seed, epoch).
        position: where to begin.
    """

    def __init__(
        self,
        count: int,
        make: Callable[[Indices, int], Batch],
        *,
        batch_pictures: int,
        seed: int,
        position: Position = START,
    ) -> None:
        assert count > 0, "no pictures to train on"
        self.position = position
        self._count, self._make = count, make
        self._size, self._seed = min(batch_pictures, count), seed

    def __iter__(self) -> Iterator[tuple[Batch, Position]]:
        for indices, epoch, after in walked(self.plan, self.position):
            self.position = after
            yield self._make(indices, epoch), after

    def plan(self, epoch: int) -> list[Indices]:
        """Return the batches of an epoch as picture indices."""
        order = shuffled(self._count, self._seed, "pictures of epoch", epoch)
        whole = len(order) // self._size * self._size
        return list(order[:whole].reshape(-1, self._size))

    def largest(self) -> Batch:
        """Return the batch to try memory with: all are of one size."""
        return self._make(self.plan(0)[0], 0)

    def batches_an_epoch(self) -> int:
        """Return how many batches an epoch has."""
        return len(self.plan(0))
