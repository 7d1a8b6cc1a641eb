"""Patch embeddings: pictures as sequences of patches (Dosovitskiy et al. 2021, sec. 3.1).

Suffixes beside the package's legend: C channels, h and w a picture's height and width, P patches.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def patches_of(pixels_BChw: Tensor, size: int) -> Tensor:
    """Cut pictures into square patches, row by row; (B, P, C * size * size), channels first within a patch.

    Raises:
        ValueError: height or width is not a multiple of the patch size.
    """
    B, C, height, width = pixels_BChw.shape
    if height % size or width % size:
        raise ValueError(f"a picture of {height} x {width} cannot be cut into patches of {size} x {size}")
    rows, columns = height // size, width // size
    tiles = pixels_BChw.reshape(B, C, rows, size, columns, size)
    return tiles.permute(0, 2, 4, 1, 3, 5).reshape(B, rows * columns, C * size * size)


class LinearPatches(nn.Module):
    """x_p E: a linear projection of each patch (eq. 1).

    Args:
        size: height and width of a patch, in pixels.
        channels: C.
        d_model: width of the output.
    """

    def __init__(self, size: int, channels: int, d_model: int) -> None:
        super().__init__()
        self.size = size
        self.project = nn.Linear(channels * size * size, d_model)

    def forward(self, pixels_BChw: Tensor) -> Tensor:
        """Embed the patches; (B, C, h, w) to (B, P, d_model)."""
        embedded_BPd: Tensor = self.project(patches_of(pixels_BChw, self.size))
        return embedded_BPd


class ConvolutionalPatches(nn.Module):
    """A convolutional stem: patches of the feature map of a few convolutions (the hybrid of section 3.1).

    3 x 3 convolutions, each with batch norm and ReLU, of which log2(size) have stride 2; then one of 1 x 1. A
    vision transformer learns from far fewer pictures with them (Xiao et al. 2021, "Early convolutions help
    transformers see better", sec. 4).

    Args:
        size: height and width of a patch, in pixels; a power of 2.
        channels: C.
        d_model: width of the output.
        width: channels of the first convolution; doubled wherever the picture is halved.

    Raises:
        ValueError: size is not a power of 2.
    """

    def __init__(self, size: int, channels: int, d_model: int, width: int) -> None:
        super().__init__()
        halvings = size.bit_length() - 1
        if size != 1 << halvings:
            raise ValueError(f"the patch size of a convolutional stem must be a power of 2, not {size}")
        parts: list[nn.Module] = _convolution(channels, width, stride=1)
        for number in range(halvings):
            parts += _convolution(width << number, width << number + 1, stride=2)
            parts += _convolution(width << number + 1, width << number + 1, stride=1)
        self.size = size
        self.convolutions = nn.Sequential(*parts)
        self.project = nn.Linear(width << halvings, d_model)

    def forward(self, pixels_BChw: Tensor) -> Tensor:
        """Embed the patches; (B, C, h, w) to (B, P, d_model)."""
        features_BCrc = self.convolutions(pixels_BChw.contiguous(memory_format=torch.channels_last))
        embedded_BPd: Tensor = self.project(features_BCrc.flatten(2).mT)
        return embedded_BPd


def _convolution(channels: int, out: int, stride: int) -> list[nn.Module]:
    convolution = nn.Conv2d(channels, out, 3, stride=stride, padding=1, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return [convolution, nn.BatchNorm2d(out), nn.ReLU()]


class PatchPositions(nn.Module):
    """Add a learned position vector to each patch (eq. 1), interpolated for pictures of another size.

    Args:
        rows: rows of patches in the training pictures.
        columns: columns of patches in the training pictures.
        d_model: width of the vectors.
    """

    def __init__(self, rows: int, columns: int, d_model: int) -> None:
        super().__init__()
        self.rows, self.columns = rows, columns
        self.weight = nn.Parameter(torch.randn(rows * columns, d_model) * 0.02)

    def forward(self, x_BPd: Tensor, rows: int, columns: int) -> Tensor:
        """Add the vectors to x, whose P patches are ``rows * columns``; same shape."""
        table_Pd: Tensor = self.weight
        if (rows, columns) != (self.rows, self.columns):
            table_Pd = resized(table_Pd, (self.rows, self.columns), (rows, columns))
        return x_BPd + table_Pd.to(x_BPd.dtype)


def resized(table_Pd: Tensor, old: tuple[int, int], new: tuple[int, int]) -> Tensor:
    """Interpolate position vectors to another grid of patches, bicubically (sec. 3.2).

    Args:
        table_Pd: one vector per patch, row by row.
        old: (rows, columns) of their grid.
        new: (rows, columns) of the new grid.
    """
    grid_1drc = table_Pd.reshape(*old, -1).permute(2, 0, 1)[None]
    interpolated = F.interpolate(grid_1drc.float(), size=new, mode="bicubic", align_corners=False)
    return interpolated[0].permute(1, 2, 0).reshape(new[0] * new[1], -1).to(table_Pd.dtype)
