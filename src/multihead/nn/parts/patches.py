"""Patch embeddings: images as sequences of patches (Dosovitskiy et al. 2021, sec. 3.1).

Suffixes beside the package's legend: C channels, h and w an image's height and width, P patches.
"""

from torch import Tensor, nn

from multihead.nn.parts.image_layers import apply_channels_last


def patches_of(pixels_BChw: Tensor, size: int) -> Tensor:
    """Cut images into square patches, row by row; (B, P, C * size * size), channels first within a patch.

    Raises:
        ValueError: height or width is not a multiple of the patch size.
    """
    B, C, height, width = pixels_BChw.shape
    if height % size or width % size:
        raise ValueError(f"an image of {height} x {width} cannot be cut into patches of {size} x {size}")
    rows, columns = height // size, width // size
    tiles = pixels_BChw.reshape(B, C, rows, size, columns, size)
    return tiles.permute(0, 2, 4, 1, 3, 5).reshape(B, rows * columns, C * size * size)


def grid_of(height: int, width: int, size: int) -> tuple[int, int]:
    """Return (rows, columns) of an image's patches."""
    return height // size, width // size


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

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """(rows, columns) of the patches of an image."""
        return grid_of(height, width, self.size)


class ConvolutionalPatches(nn.Module):
    """A convolutional stem: patches of the feature map of a few convolutions (the hybrid of section 3.1).

    3 x 3 convolutions, each with batch norm and ReLU, of which log2(size) have stride 2; then one of 1 x 1. A
    vision transformer learns from far fewer images with them (Xiao et al. 2021, "Early convolutions help
    transformers see better", sec. 4).

    Args:
        size: height and width of a patch, in pixels; a power of 2.
        channels: C.
        d_model: width of the output.
        width: channels of the first convolution; doubled wherever the image is halved.

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
        features_BCrc = apply_channels_last(self.convolutions, pixels_BChw)
        embedded_BPd: Tensor = self.project(features_BCrc.flatten(2).mT)
        return embedded_BPd

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """(rows, columns) of the patches of an image."""
        return grid_of(height, width, self.size)


def _convolution(channels: int, out: int, stride: int) -> list[nn.Module]:
    convolution = nn.Conv2d(channels, out, 3, stride=stride, padding=1, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return [convolution, nn.BatchNorm2d(out), nn.ReLU()]
