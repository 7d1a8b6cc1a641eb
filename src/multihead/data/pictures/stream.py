"""The order in which pictures are trained on."""

from collections.abc import Callable
from typing import TypeVar

from multihead.batch import Batch
from multihead.data.plan import Indices, shuffled
from multihead.data.stream import START, Position, Stream

B = TypeVar("B", bound=Batch)


class PictureStream(Stream[B]):
    """The endless stream of training batches, each with the position after it.

    The pictures of an epoch that fill no batch are left out of it; they are others each time.

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
        make: Callable[[Indices, int], B],
        *,
        batch_pictures: int,
        seed: int,
        position: Position = START,
    ) -> None:
        assert count > 0, "no pictures to train on"
        super().__init__(position)
        self._count, self._make = count, make
        self._size, self._seed = min(batch_pictures, count), seed

    def plan(self, epoch: int) -> list[Indices]:
        """Return the batches of an epoch as picture indices."""
        order = shuffled(self._count, self._seed, "pictures of epoch", epoch)
        whole = len(order) // self._size * self._size
        return list(order[:whole].reshape(-1, self._size))

    def batch(self, indices: Indices, epoch: int) -> B:
        """Return these pictures, as they are in this epoch."""
        return self._make(indices, epoch)
