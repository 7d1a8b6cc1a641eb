"""The stream of image batches: every image once an epoch, resumed from a position."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from multihead.batch import ImageBatch
from multihead.data.images.opening import Form
from multihead.data.images.store import ImageStore, ImageWriter
from multihead.data.images.stream import ImageStream
from multihead.data.store import BrokenStoreError
from multihead.data.stream import START, StreamPosition
from multihead.tasks.images.batches import ImageBatches, mixup, sequential_batches
from multihead.tasks.images.settings import AugmentationSettings

N, SIZE, BATCH = 23, 5, 7
EVERYTHING = AugmentationSettings(crop=0.2, flip=True, operations=2, erase=0.5, mixup=0.4)


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    """Image i has shade i and class i % 3."""
    with ImageWriter(tmp_path / "store", N, Form(SIZE, 1)) as writer:
        for number in range(N):
            writer.add(np.full((1, SIZE, SIZE), number, dtype=np.uint8), number % 3)
    return ImageStore(tmp_path / "store")


def stream(
    store: ImageStore, augmentation: AugmentationSettings, start: StreamPosition = START
) -> ImageStream[ImageBatch]:
    batches = ImageBatches(store, 1, augmentation)
    return ImageStream(len(store), batches.batch, batch_images=BATCH, seed=1, position=start)


def shades(batch: ImageBatch) -> list[int]:
    return (batch.pixels_BChw[:, 0, 0, 0] * 255).round().int().tolist()


def test_an_epoch_has_full_batches_of_distinct_images(store: ImageStore) -> None:
    batches = [batch for batch, _ in islice(stream(store, AugmentationSettings()), N // BATCH)]
    seen = [shade for batch in batches for shade in shades(batch)]
    assert len(seen) == len(set(seen)) == N // BATCH * BATCH
    for batch in batches:
        assert batch.labels_B2[:, 0].tolist() == [shade % 3 for shade in shades(batch)]
        assert batch.counts == {"images": BATCH}


def test_images_skipped_in_one_epoch_come_in_another(store: ImageStore) -> None:
    batches = [batch for batch, _ in islice(stream(store, AugmentationSettings()), 5 * (N // BATCH))]
    assert {shade for batch in batches for shade in shades(batch)} == set(range(N))


def test_a_stream_of_images_resumes_with_the_same_bytes(store: ImageStore) -> None:
    whole = list(islice(stream(store, EVERYTHING), 8))
    for number in (1, 2, 3, 5):
        rest = islice(stream(store, EVERYTHING, whole[number - 1][1]), 8 - number)
        for (batch, position), (expected, place) in zip(rest, whole[number:], strict=True):
            assert position == place
            assert torch.equal(batch.pixels_BChw, expected.pixels_BChw)
            assert torch.equal(batch.shares_B2, expected.shares_B2)
            assert torch.equal(batch.labels_B2, expected.labels_B2)


def test_mixup_blends_each_image_with_the_next() -> None:
    x = torch.rand(3, 1, SIZE, SIZE)
    batch = mixup(x, torch.tensor([4, 5, 6]), np.array([0.25, 1.0, 0.5]))
    assert_close(batch.pixels_BChw[0], 0.25 * x[0] + 0.75 * x[1])
    assert_close(batch.pixels_BChw[1], x[1])
    assert_close(batch.pixels_BChw[2], 0.5 * x[2] + 0.5 * x[0])
    assert batch.labels_B2.tolist() == [[4, 5], [5, 6], [6, 4]]
    assert_close(batch.shares_B2.sum(dim=1), torch.ones(3))


def test_evaluation_visits_all_images_in_order(store: ImageStore) -> None:
    found = list(sequential_batches(store, range(N), BATCH))
    assert [row for rows, _ in found for row in rows] == list(range(N))
    assert [shade for _, batch in found for shade in shades(batch)] == list(range(N))


@pytest.mark.parametrize("name", ["pixels.npy", "labels.npy"])
def test_a_truncated_store_is_detected(store: ImageStore, tmp_path: Path, name: str) -> None:
    file = tmp_path / "store" / name
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(BrokenStoreError):
        ImageStore(tmp_path / "store")
