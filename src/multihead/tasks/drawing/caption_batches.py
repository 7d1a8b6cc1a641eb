"""Batches of images with captions."""

from collections.abc import Sequence

import torch

from multihead.batch import CaptionBatch
from multihead.data.images.store import ImageStore
from multihead.tasks.drawing.captioned import Captioned
from multihead.tasks.images.batches import pixels_of


class CaptionBatches:
    """Makes batches of the images of a store with their captions."""

    def __init__(self, captioned: Captioned, store: ImageStore) -> None:
        self.store, self.tokenizer = store, captioned.tokenizer
        self.texts = [captioned.captions[number] for number in store.labels.tolist()]
        self.ids = captioned.tokenizer.encode_batch(self.texts)

    def batch(self, rows: Sequence[int]) -> CaptionBatch:
        """Return the images at ``rows`` with their captions."""
        text = [self.ids[row] for row in rows]
        return captions_batch(pixels_of(self.store, rows), text, self.tokenizer.pad_id)


def captions_batch(pixels_BChw: torch.Tensor, text: Sequence[Sequence[int]], pad_id: int) -> CaptionBatch:
    """Collate images with the token ids of their captions, padded on the right."""
    width = max([1, *map(len, text)])
    text_BT = torch.tensor([[*ids, *[pad_id] * (width - len(ids))] for ids in text])
    lengths_B = torch.tensor([len(ids) for ids in text])
    return CaptionBatch(pixels_BChw, text_BT, lengths_B, int(lengths_B.sum()))
