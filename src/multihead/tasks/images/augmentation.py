"""Image augmentation: random shift, crop and flip, RandAugment, random erasing.

The result is a function of the pixels and of a row of uniform random numbers per image (``random_numbers``).
The shift moves whole pixels. All other geometric operations are composed into one affine map, so an image
is resampled only once.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from multihead.data.images.random_numbers import Uniforms
from multihead.tasks.images.settings import AugmentationSettings

CROP, FLIP, ERASE, NOISE, EACH, STEPS = 3, 1, 5, 1, 2, 2
"""Uniform random numbers per step; ``EACH``: per operation of RandAugment, ``STEPS``: per shift."""

SMALLEST, LARGEST = 0.02, 0.33
"""Range of the erased fraction of an image, as in torchvision (Zhong et al. 2020: up to 0.4)."""

TURN, SHEAR, SHIFT = math.radians(30), 0.3, 0.3
"""Rotation angle, shear and translation (fraction of the size) at magnitude 1, after Cubuk et al. 2019."""


def numbers_needed(settings: AugmentationSettings) -> int:
    """Return the number of uniform random numbers that an image needs."""
    return CROP + FLIP + ERASE + NOISE + EACH * settings.operations + (STEPS if settings.shift else 0)


def augment(pixels_BChw: Tensor, u_BN: Uniforms, settings: AugmentationSettings) -> Tensor:
    """Return augmented images, float, of the same shape.

    Args:
        pixels_BChw: images, from 0 to 1.
        u_BN: ``numbers_needed`` uniform random numbers for each image.
        settings: the operations and their strengths.
    """
    lengths = [CROP, FLIP, ERASE, NOISE, EACH * settings.operations]
    crop_B3, flip_B1, erase_B5, noise_B1, operations_BN, shift_B2 = np.split(u_BN, np.cumsum(lengths), axis=1)
    maps = [_cropping(crop_B3, settings.crop), _mirroring(flip_B1, settings.flip)]
    shades: list[Callable[[Tensor], Tensor]] = []
    for number in range(settings.operations):
        which_B, strength_B = operations_BN[:, EACH * number], operations_BN[:, EACH * number + 1]
        choices = len(GEOMETRIC) + len(PHOTOMETRIC) + 1  # the last leaves the image unchanged
        choice_B = (which_B * choices).astype(np.int64)
        signed_B = (2 * strength_B - 1) * settings.magnitude
        maps += [_where(choice_B == place, move(signed_B)) for place, move in enumerate(GEOMETRIC)]
        for place, operation in enumerate(PHOTOMETRIC, start=len(GEOMETRIC)):
            shades.append(_shading(operation, choice_B == place, signed_B))
    if settings.shift:
        pixels_BChw = shift_images(pixels_BChw, shift_B2, settings.shift)
    moved_BChw = apply_affine(pixels_BChw, maps)
    for shade in shades:
        moved_BChw = shade(moved_BChw)
    return random_erasing(moved_BChw, erase_B5, noise_B1, settings.erase)


def shift_images(x_BChw: Tensor, u_B2: Uniforms, most: int) -> Tensor:
    """Shift each image by up to ``most`` whole pixels down and right, or up and left; outside is black."""
    height, width = x_BChw.shape[2:]
    corner_B2 = torch.from_numpy((u_B2 * (2 * most + 1)).astype(np.int64))
    padded = F.pad(x_BChw, (most, most, most, most))
    rows_Bh = corner_B2[:, :1] + torch.arange(height)
    columns_Bw = corner_B2[:, 1:] + torch.arange(width)
    image_B = torch.arange(len(x_BChw))
    cut_BhwC = padded[image_B[:, None, None], :, rows_Bh[:, :, None], columns_Bw[:, None]]
    return cut_BhwC.permute(0, 3, 1, 2).contiguous()


def apply_affine(pixels_BChw: Tensor, maps: list[NDArray[np.float64]]) -> Tensor:
    """Apply affine maps in order, (B, 2, 3) each, in coordinates from -1 to 1; outside is black."""
    composed = np.broadcast_to(np.eye(3), (len(pixels_BChw), 3, 3))
    for map_B23 in maps:
        square = np.zeros_like(composed)
        square[:, :2], square[:, 2, 2] = map_B23, 1
        composed = composed @ square
    if (composed[:, :2] == np.eye(3)[:2]).all():
        return pixels_BChw
    theta = torch.from_numpy(np.ascontiguousarray(composed[:, :2])).to(pixels_BChw.dtype)
    grid = F.affine_grid(theta, list(pixels_BChw.shape), align_corners=False)
    return F.grid_sample(pixels_BChw, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def _affine(*entries: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the affine map ((a, b, x), (c, d, y)) of each image, (B, 2, 3); scalars apply to all."""
    return np.stack(np.broadcast_arrays(*entries), axis=-1).astype(np.float64).reshape(-1, 2, 3)


def _where(mask_B: NDArray[np.bool_], maps_B23: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(mask_B[:, None, None], maps_B23, np.eye(3)[:2])


def _cropping(u_B3: Uniforms, part: float) -> NDArray[np.float64]:
    """Random crop: shift by up to ``part`` of the size each way, zoom in by up to 1 / (1 - part / 2)."""
    right_B, down_B = (2 * u_B3[:, :2].T - 1) * 2 * part
    zoom_B = 1 - u_B3[:, 2] * part / 2
    return _affine(zoom_B, 0, right_B, 0, zoom_B, down_B)


def _mirroring(u_B1: Uniforms, flip: bool) -> NDArray[np.float64]:
    side_B = np.where((u_B1[:, 0] < 0.5) & flip, -1.0, 1.0)
    return _affine(side_B, 0, 0, 0, 1, 0)


GEOMETRIC: tuple[Callable[[NDArray[np.float64]], NDArray[np.float64]], ...] = (
    lambda s: _affine(np.cos(s * TURN), -np.sin(s * TURN), 0, np.sin(s * TURN), np.cos(s * TURN), 0),
    lambda s: _affine(1, s * SHEAR, 0, 0, 1, 0),
    lambda s: _affine(1, 0, 0, s * SHEAR, 1, 0),
    lambda s: _affine(1, 0, 2 * s * SHIFT, 0, 1, 0),
    lambda s: _affine(1, 0, 0, 0, 1, 2 * s * SHIFT),
)
"""Rotation, shear and translation in both axes, by a strength s from -1 to 1."""


def _brightness(x: Tensor, s: Tensor) -> Tensor:
    return (x * (1 + 0.9 * s)).clamp(0, 1)


def _contrast(x: Tensor, s: Tensor) -> Tensor:
    mean = x.mean(dim=(1, 2, 3), keepdim=True)
    return ((x - mean) * (1 + 0.9 * s) + mean).clamp(0, 1)


def _posterise(x: Tensor, s: Tensor) -> Tensor:
    levels = 2.0 ** (8 - 6 * s.abs()).floor()
    return (x * (levels - 1)).round() / (levels - 1)


def _solarise(x: Tensor, s: Tensor) -> Tensor:
    return torch.where(x > 1 - s.abs(), 1 - x, x)


PHOTOMETRIC: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (_brightness, _contrast, _posterise, _solarise)
"""Operations on pixel values (Cubuk et al. 2019, table 6), by a strength from -1 to 1."""


def _shading(
    shade: Callable[[Tensor, Tensor], Tensor], mask_B: NDArray[np.bool_], strength_B: NDArray[np.float64]
) -> Callable[[Tensor], Tensor]:
    rows = torch.from_numpy(np.flatnonzero(mask_B))
    strength = torch.from_numpy(strength_B[mask_B]).float()[:, None, None, None]

    def apply(x_BChw: Tensor) -> Tensor:
        return x_BChw.index_copy(0, rows, shade(x_BChw[rows], strength)) if len(rows) else x_BChw

    return apply


def random_erasing(x_BChw: Tensor, u_B5: Uniforms, noise_B1: Uniforms, chance: float) -> Tensor:
    """Random erasing: replace a rectangle with noise, at some probability (Zhong et al. 2020, algorithm 1).

    Args:
        x_BChw: images.
        u_B5: uniform random numbers for: erase or not, area, aspect ratio (0.3 to 3.3), top, left.
        noise_B1: seeds of the noise, uniform in [0, 1).
        chance: probability of erasing.
    """
    height, width = x_BChw.shape[2:]
    hit_B = u_B5[:, 0] < chance
    if not hit_B.any():
        return x_BChw
    area_B = (SMALLEST + u_B5[:, 1] * (LARGEST - SMALLEST)) * height * width
    aspect_B = np.exp(np.log(0.3) + u_B5[:, 2] * np.log(1 / 0.3**2))
    tall_B = np.minimum(np.sqrt(area_B * aspect_B).round(), height)
    wide_B = np.minimum(np.sqrt(area_B / aspect_B).round(), width)
    top_B = (u_B5[:, 3] * (height - tall_B + 1)).astype(int)
    left_B = (u_B5[:, 4] * (width - wide_B + 1)).astype(int)
    y, x = np.arange(height)[:, None], np.arange(width)
    inside_Bhw = (y >= top_B[:, None, None]) & (y < (top_B + tall_B)[:, None, None])
    inside_Bhw = inside_Bhw & (x >= left_B[:, None, None]) & (x < (left_B + wide_B)[:, None, None])
    inside_Bhw &= hit_B[:, None, None]
    inside = torch.from_numpy(inside_Bhw)[:, None]
    return torch.where(inside, _noise(x_BChw, noise_B1), x_BChw)


def _noise(x_BChw: Tensor, seeds_B1: Uniforms) -> Tensor:
    """Uniform noise as a function of one number per image (a hashed Weyl sequence)."""
    places = np.arange(1, x_BChw[0].numel() + 1, dtype=np.uint64)
    words = (seeds_B1 * 2.0**53).astype(np.uint64) + places * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    values = (words >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
    return torch.from_numpy(values).view(x_BChw.shape).to(x_BChw.dtype)
