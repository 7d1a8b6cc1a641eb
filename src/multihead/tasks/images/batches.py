"""Batches of images: augmentation and mixup for training, plain ones for evaluation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multihead.batch import ImageBatch
from multihead.data.images.random_numbers import beta, uniforms
from multihead.data.images.store import ImageStore
from multihead.data.plan import Indices
from multihead.tasks.images.augmentation import augment, numbers_needed
from multihead.tasks.images.settings import AugmentationSettings

MIXING = 32
"""Uniform random numbers from which a mixup ratio is sampled."""


def pixels_of(store: ImageStore, indices: Sequence[int]) -> Tensor:
    """Return images as floats from 0 to 1, (B, channels, size, size)."""
    return torch.from_numpy(store.pixels[list(indices)]).float() / 255


def plain_batch(pixels_BChw: Tensor, labels_B: Tensor) -> ImageBatch:
    """Return a batch without mixup."""
    shares_B2 = torch.tensor([1.0, 0.0]).expand(len(labels_B), 2)
    return ImageBatch(pixels_BChw, labels_B[:, None].expand(-1, 2), shares_B2)


@dataclass(frozen=True)
class ImageBatches:
    """Makes augmented batches of the images of a store.

    Attributes:
        store: the images.
        seed: with the epoch, seeds the augmentation.
        augmentation: the augmentation.
    """

    store: ImageStore
    seed: int
    augmentation: AugmentationSettings

    def batch(self, indices: Indices, epoch: int) -> ImageBatch:
        """Return the images at ``indices``, augmented for this epoch."""
        rows, settings = indices.tolist(), self.augmentation
        needed = numbers_needed(settings)
        u_BN = uniforms(self.seed, epoch, rows, needed + MIXING)
        pixels = augment(pixels_of(self.store, rows), u_BN[:, :needed], settings)
        labels_B = torch.from_numpy(self.store.labels[indices])
        if not settings.mixup:
            return plain_batch(pixels, labels_B)
        return mixup(pixels, labels_B, beta(u_BN[:, needed:], settings.mixup))


def mixup(pixels_BChw: Tensor, labels_B: Tensor, shares_B: NDArray[np.float64]) -> ImageBatch:
    """mixup: blend each image with the next of the batch, the last with the first (Zhang et al. 2018, eq. 1).

    Args:
        pixels_BChw: the images.
        labels_B: their classes.
        shares_B: lambda, the weight of the image itself; the weight of its neighbour is 1 - lambda.
    """
    ratio_B = torch.from_numpy(shares_B).float()
    part = ratio_B[:, None, None, None]
    blend = part * pixels_BChw + (1 - part) * pixels_BChw.roll(-1, dims=0)
    labels_B2 = torch.stack([labels_B, labels_B.roll(-1)], dim=1)
    return ImageBatch(blend, labels_B2, torch.stack([ratio_B, 1 - ratio_B], dim=1))


def sequential_batches(
    store: ImageStore, indices: Sequence[int], batch_images: int
) -> Iterator[tuple[list[int], ImageBatch]]:
    """Yield the images once, in order and without augmentation, as (indices, batch), for evaluation."""
    for start in range(0, len(indices), batch_images):
        rows = list(indices[start : start + batch_images])
        yield rows, plain_batch(pixels_of(store, rows), torch.from_numpy(store.labels[rows]))
