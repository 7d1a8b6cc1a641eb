"""Image augmentation: a function of (seed, epoch, index), and the effect of each operation."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from multihead.data.images.random_numbers import beta, uniforms
from multihead.tasks.images.augmentation import apply_affine, augment, numbers_needed, random_erasing
from multihead.tasks.images.settings import AugmentationSettings

B, C, SIZE = 7, 3, 13
EVERYTHING = AugmentationSettings(crop=0.2, shift=2, flip=True, operations=2, magnitude=0.7, erase=0.5)


def pixels(count: int = B) -> Tensor:
    return torch.rand(count, C, SIZE, SIZE)


def changed(
    x: Tensor, settings: AugmentationSettings, epoch: int = 0, rows: Sequence[int] | None = None
) -> Tensor:
    rows = list(range(len(x))) if rows is None else rows
    return augment(x, uniforms(1, epoch, rows, numbers_needed(settings)), settings)


def test_random_numbers_of_an_image_do_not_depend_on_the_batch() -> None:
    together, alone = uniforms(1, 5, range(B), 11), uniforms(1, 5, [3], 11)
    assert np.array_equal(together[3], alone[0])
    assert not np.array_equal(uniforms(1, 6, [3], 11), alone)
    assert not np.array_equal(uniforms(2, 5, [3], 11), alone)


def test_augmentation_of_an_image_does_not_depend_on_the_batch() -> None:
    x = pixels()
    together = changed(x, EVERYTHING)
    for row in range(B):
        assert_close(changed(x[row : row + 1], EVERYTHING, rows=[row])[0], together[row])


def test_epochs_differ_and_pixels_stay_between_black_and_white() -> None:
    x = pixels()
    first = changed(x, EVERYTHING)
    assert not torch.equal(first, changed(x, EVERYTHING, epoch=1))
    assert first.shape == x.shape
    assert first.min() >= 0
    assert first.max() <= 1


def test_without_augmentation_the_image_is_returned_unchanged() -> None:
    x = pixels()
    assert changed(x, AugmentationSettings()) is x


def test_flipping_mirrors_about_half_of_the_images() -> None:
    x = pixels(101)
    found = changed(x, AugmentationSettings(flip=True))
    kept = [torch.allclose(new, old, atol=1e-5) for new, old in zip(found, x, strict=True)]
    mirrored = [torch.allclose(new, old.flip(-1), atol=1e-5) for new, old in zip(found, x, strict=True)]
    assert all(a != b for a, b in zip(kept, mirrored, strict=True))
    assert 35 < sum(mirrored) < 66


@pytest.mark.parametrize("most", [1, 3, SIZE + 2])
def test_a_shift_moves_whole_pixels_and_leaves_them_as_they_are(most: int) -> None:
    x = pixels(101)
    found = changed(x, AugmentationSettings(shift=most))
    padded = torch.nn.functional.pad(x, (most, most, most, most))
    windows = padded.unfold(2, SIZE, 1).unfold(3, SIZE, 1)  # (B, C, 2 most + 1, 2 most + 1, SIZE, SIZE)
    same = (windows == found[:, :, None, None]).all(dim=-1).all(dim=-1).all(dim=1)
    assert same.flatten(1).any(dim=1).all()  # each is one of the windows, bit for bit
    if most < SIZE:
        corners = {tuple(map(int, image.nonzero()[0])) for image in same}
        assert len(corners) > min(101, (2 * most + 1) ** 2) // 2  # and they differ
        assert {row for row, _ in corners} == set(range(2 * most + 1))


def test_a_shift_does_not_change_the_other_random_numbers() -> None:
    """Recipes without it keep their images: what it draws comes last."""
    x = torch.ones(B, C, SIZE, SIZE)
    plain, also = (changed(x, AugmentationSettings(erase=1.0, shift=shift)) for shift in (0, 1))
    inner = (..., slice(1, -1), slice(1, -1))
    assert torch.equal(plain[inner], also[inner])


def test_a_translation_by_one_pixel_shifts_by_one_pixel() -> None:
    x = pixels()
    right = np.broadcast_to(np.array([[1, 0, 2 / SIZE], [0, 1, 0]]), (B, 2, 3))
    found = apply_affine(x, [right])
    assert_close(found[..., :-1], x[..., 1:], atol=1e-5, rtol=0)
    assert found[..., -1].abs().max() < 1e-5  # what comes in is black


def test_two_affine_maps_are_composed_in_order() -> None:
    x = pixels()
    right = np.broadcast_to(np.array([[1, 0, 2 / SIZE], [0, 1, 0]]), (B, 2, 3))
    back = np.broadcast_to(np.array([[1, 0, -2 / SIZE], [0, 1, 0]]), (B, 2, 3))
    assert_close(apply_affine(x, [right, back]), x, atol=1e-5, rtol=0)


def test_erasing_replaces_one_rectangle_of_2_to_33_per_cent() -> None:
    x = torch.full((50, 1, 40, 40), 2.0)
    found = random_erasing(x, uniforms(1, 0, range(50), 5), uniforms(2, 0, range(50), 1), chance=1.0)
    for image in found[:, 0]:
        hit = image != 2
        rows, columns = hit.any(dim=1).nonzero(), hit.any(dim=0).nonzero()
        box = hit[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        assert box.all()
        assert 0.015 < hit.float().mean() < 0.36
        assert 0.35 < image[hit].mean() < 0.65
    untouched = random_erasing(x, uniforms(1, 0, range(50), 5), uniforms(2, 0, range(50), 1), chance=0.0)
    assert untouched is x


@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_mixup_ratios_have_a_beta_distribution(alpha: float) -> None:
    """Mean 1/2, variance 1 / (4 (2 alpha + 1))."""
    shares = beta(uniforms(1, 0, range(4001), 32), alpha)
    assert abs(shares.mean() - 0.5) < 0.02
    assert abs(shares.var() - 1 / (4 * (2 * alpha + 1))) < 0.01


def test_randaugment_at_magnitude_zero_changes_nothing() -> None:
    x = (pixels() * 255).round() / 255
    found = changed(x, AugmentationSettings(operations=3, magnitude=0.0))
    assert_close(found, x, atol=1e-5, rtol=0)
