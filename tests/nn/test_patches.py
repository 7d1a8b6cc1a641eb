"""Patch embeddings of images."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from multihead.nn.parts.patch_positions import PatchPositions, resize
from multihead.nn.parts.patches import ConvolutionalPatches, LinearPatches, patches_of

B, C, SIZE, ROWS, COLUMNS, D = 2, 3, 5, 7, 11, 13


def pixels() -> torch.Tensor:
    return torch.rand(B, C, ROWS * SIZE, COLUMNS * SIZE)


def test_patches_hold_every_pixel_of_the_image_once() -> None:
    x = pixels()
    patches = patches_of(x, SIZE)
    assert patches.shape == (B, ROWS * COLUMNS, C * SIZE * SIZE)
    assert torch.equal(F.fold(patches.mT, x.shape[2:], kernel_size=SIZE, stride=SIZE), x)


def test_patches_are_cut_row_by_row_with_channels_first() -> None:
    x = pixels()
    patch = patches_of(x, SIZE)[1, 2 * COLUMNS + 4]
    assert torch.equal(patch, x[1, :, 2 * SIZE : 3 * SIZE, 4 * SIZE : 5 * SIZE].flatten())


def test_an_image_not_divisible_into_patches_is_refused() -> None:
    with pytest.raises(ValueError, match="36 x 55 cannot be cut into patches of 5 x 5"):
        patches_of(torch.zeros(B, C, 36, 55), SIZE)


def test_the_linear_projection_is_a_convolution_whose_stride_is_its_size() -> None:
    embed = LinearPatches(SIZE, C, D)
    x = pixels()
    weight = embed.project.weight.view(D, C, SIZE, SIZE)
    expected = F.conv2d(x, weight, embed.project.bias, stride=SIZE).flatten(2).mT
    assert_close(embed(x), expected)


def test_convolutions_give_as_many_patches_as_the_projection() -> None:
    embed = ConvolutionalPatches(4, C, D, width=2)
    assert embed(torch.rand(B, C, 4 * ROWS, 4 * COLUMNS)).shape == (B, ROWS * COLUMNS, D)


def test_a_convolutional_stem_needs_a_power_of_2() -> None:
    with pytest.raises(ValueError, match="must be a power of 2, not 6"):
        ConvolutionalPatches(6, C, D, width=2)


def test_positions_are_interpolated_for_another_grid_only() -> None:
    positions = PatchPositions(ROWS, COLUMNS, D)
    zeros = torch.zeros(B, ROWS * COLUMNS, D)
    assert torch.equal(positions(zeros, ROWS, COLUMNS)[0], positions.weight)
    larger = positions(torch.zeros(B, 2 * ROWS * COLUMNS, D), 2 * ROWS, COLUMNS)
    assert larger.shape == (B, 2 * ROWS * COLUMNS, D)


def test_interpolation_keeps_a_linear_slope() -> None:
    """Vectors with a slope of 1 per patch have a slope of 1/2 on twice as many columns."""
    slope = torch.arange(float(COLUMNS)).expand(ROWS, COLUMNS).reshape(-1, 1)
    wider = resize(slope, (ROWS, COLUMNS), (ROWS, 2 * COLUMNS)).view(ROWS, 2 * COLUMNS)
    assert (wider.diff(dim=1) > 0).all()
    assert_close(wider[:, 15] - wider[:, 5], torch.full((ROWS,), 5.0), atol=1e-4, rtol=0)
