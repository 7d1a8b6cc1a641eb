"""From stored pictures and captions to batches, in an order that a position is enough to go on from."""

from collections.abc import Iterator, Sequence

import torch

from multihead.batch import CaptionBatch
from multihead.data.batches import Position, walked
from multihead.data.pictures.batches import START, pixels_of
from multihead.data.pictures.captioned import Captioned
from multihead.data.pictures.store import PictureStore
from multihead.data.plan import Indices, shuffled


class CaptionBatches:
    """Makes batches of a store's pictures with their captions."""

    def __init__(self, captioned: Captioned, store: PictureStore) -> None:
        self.store, self.tokenizer = store, captioned.tokenizer
        self.texts = [captioned.captions[number] for number in store.labels.tolist()]
        self.ids = captioned.tokenizer.encode_batch(self.texts)

    def batch(self, rows: Sequence[int]) -> CaptionBatch:
        """Return the pictures at ``rows``."""
        text = [self.ids[row] for row in rows]
        return captions_batch(pixels_of(self.store, rows), text, self.tokenizer.pad_id)


def captions_batch(pixels_BChw: torch.Tensor, text: Sequence[Sequence[int]], pad_id: int) -> CaptionBatch:
    """Return pictures with their captions' ids, padded on the right."""
    width = max([1, *map(len, text)])
    text_BT = torch.tensor([[*ids, *[pad_id] * (width - len(ids))] for ids in text])
    lengths_B = torch.tensor([len(ids) for ids in text])
    return CaptionBatch(pixels_BChw, text_BT, lengths_B, int(lengths_B.sum()))


class CaptionStream:
    """The endless stream of training batches, each with the position after it; see ``PictureStream``."""

    def __init__(
        self, batches: CaptionBatches, *, batch_pictures: int, seed: int, position: Position = START
    ) -> None:
        self.batches, self.position = batches, position
        self._size, self._seed = min(batch_pictures, len(batches.store)), seed

    def __iter__(self) -> Iterator[tuple[CaptionBatch, Position]]:
        for indices, _, after in walked(self.plan, self.position):
            self.position = after
            yield self.batches.batch(indices.tolist()), after

    def plan(self, epoch: int) -> list[Indices]:
        """Return the batches of an epoch as picture indices."""
        order = shuffled(len(self.batches.store), self._seed, "pictures of epoch", epoch)
        whole = len(order) // self._size * self._size
        return list(order[:whole].reshape(-1, self._size))

    def largest(self) -> CaptionBatch:
        """Return the batch to try memory with: all are of one size."""
        return self.batches.batch(self.plan(0)[0].tolist())

    def batches_an_epoch(self) -> int:
        """Return how many batches an epoch has."""
        return len(self.plan(0))
