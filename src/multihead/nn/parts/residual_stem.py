"""A convolutional stem with residual blocks (He et al. 2016), for locating objects in images."""

from torch import Tensor, nn

from multihead.nn.parts.image_layers import apply_channels_last


class ResidualStem(nn.Module):
    """Maps images to a feature map: a convolution of stride 2, then blocks that halve and double.

    Args:
        stride: pixels per position of the feature map, a power of 2.
        channels: channels of the images.
        width: channels of the first convolution, doubled wherever the image is halved again.

    Attributes:
        width: channels of the feature map.

    Raises:
        ValueError: stride is not a power of 2.
    """

    def __init__(self, stride: int, channels: int, width: int) -> None:
        super().__init__()
        halvings = stride.bit_length() - 1
        if stride != 1 << halvings:
            raise ValueError(f"the stride of the stem must be a power of 2, not {stride}")
        parts: list[nn.Module] = [_convolution(channels, width, min(2, stride)), nn.ReLU()]
        for _ in range(halvings - 1):
            parts += [ResidualBlock(width, 2 * width, 2), ResidualBlock(2 * width, 2 * width, 1)]
            width *= 2
        self.width = width
        self.layers = nn.Sequential(*parts)

    def forward(self, pixels_BChw: Tensor) -> Tensor:
        """(B, C, h, w) to (B, width, h / stride, w / stride)."""
        return apply_channels_last(self.layers, pixels_BChw)


class ResidualBlock(nn.Module):
    """Two 3 x 3 convolutions with batch norm and a shortcut (He et al. 2016, figure 2)."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = _convolution(channels, out, stride), _convolution(out, out, 1)
        same = channels == out and stride == 1
        self.stride = stride
        self.shortcut = nn.Identity() if same else _convolution(channels, out, 1, size=1)
        self.relu = nn.ReLU()

    def forward(self, x_BChw: Tensor) -> Tensor:
        """Apply the block."""
        # Every second position is picked before the 1 x 1 convolution, which then has no stride of its own:
        # oneDNN's gradient of a strided one with fewer than 8 channels writes past its memory on processors
        # without AVX-512.
        picked_BChw = x_BChw[:, :, :: self.stride, :: self.stride]
        out: Tensor = self.relu(self.second(self.relu(self.first(x_BChw))) + self.shortcut(picked_BChw))
        return out


def _convolution(channels: int, out: int, stride: int, size: int = 3) -> nn.Module:
    convolution = nn.Conv2d(channels, out, size, stride=stride, padding=size // 2, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(convolution, nn.BatchNorm2d(out))
