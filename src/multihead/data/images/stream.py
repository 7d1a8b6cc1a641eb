"""Stream of training batches of images."""

from collections.abc import Callable
from typing import TypeVar

from multihead.batch import Batch
from multihead.data.plan import Indices, shuffle_indices
from multihead.data.stream import START, Stream, StreamPosition

B = TypeVar("B", bound=Batch)


class ImageStream(Stream[B]):
    """Endless stream of image batches; see :class:`Stream`.

    Images that do not fill a batch are skipped in an epoch; they differ between epochs.

    Args:
        count: number of images.
        make: (image indices, epoch) -> batch; a function of its arguments.
        batch_images: images in a batch.
        seed: with the epoch, seeds the order.
        position: the first batch to yield.
    """

    def __init__(
        self,
        count: int,
        make: Callable[[Indices, int], B],
        *,
        batch_images: int,
        seed: int,
        position: StreamPosition = START,
    ) -> None:
        assert count > 0, "no images to train on"
        super().__init__(position)
        self._count, self._make = count, make
        self._size, self._seed = min(batch_images, count), seed

    def plan(self, epoch: int) -> list[Indices]:
        """Return the batches of an epoch as arrays of image indices."""
        order = shuffle_indices(self._count, self._seed, "images of epoch", epoch)
        whole = len(order) // self._size * self._size
        return list(order[:whole].reshape(-1, self._size))

    def batch(self, indices: Indices, epoch: int) -> B:
        """Make the batch of the images at ``indices`` for this epoch."""
        return self._make(indices, epoch)
