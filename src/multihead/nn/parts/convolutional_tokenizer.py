"""The convolutional tokenizer of the Compact Convolutional Transformer (Hassani et al. 2021, sec. 3.3)."""

from itertools import pairwise

from torch import Tensor, nn

from multihead.nn.parts.image_layers import apply_channels_last


class ConvolutionalTokenizer(nn.Module):
    """MaxPool(ReLU(Conv2d(x))), once or more; the positions of the last feature map are the tokens (eq. 5).

    Neighbouring tokens see overlapping parts of an image, which gives a Transformer the local bias that
    patches lack. Every pooling halves height and width, rounding up.

    Args:
        channels: C of the images.
        d_model: width of the tokens.
        width: channels of all but the last convolution.
        layers: number of poolings.
        convolutions: number of convolutions, with their ReLUs, before each pooling; the paper: 1.
        kernel: height and width of a convolution, odd; stride 1, so that only pooling reduces.
        batch_norm: batch norm between convolution and ReLU, which the paper does not have.

    Raises:
        ValueError: the kernel is even.
    """

    def __init__(
        self,
        channels: int,
        d_model: int,
        *,
        width: int = 64,
        layers: int = 2,
        convolutions: int = 1,
        kernel: int = 3,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        if kernel % 2 == 0:
            raise ValueError(f"the kernel of a convolutional tokenizer must be odd, not {kernel}")
        widths = [channels, *[width] * (layers * convolutions - 1), d_model]
        parts: list[nn.Module] = []
        for number, (d_in, d_out) in enumerate(pairwise(widths), start=1):
            convolution = nn.Conv2d(d_in, d_out, kernel, padding=kernel // 2, bias=False)
            nn.init.kaiming_normal_(convolution.weight)
            norm: list[nn.Module] = [nn.BatchNorm2d(d_out)] if batch_norm else []
            parts += [convolution, *norm, nn.ReLU()]
            if number % convolutions == 0:
                parts.append(nn.MaxPool2d(3, stride=2, padding=1))
        self.layers = layers
        self.convolutions = nn.Sequential(*parts)

    def forward(self, pixels_BChw: Tensor) -> Tensor:
        """Embed the images; (B, C, h, w) to (B, P, d_model), row by row."""
        return apply_channels_last(self.convolutions, pixels_BChw).flatten(2).mT

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """(rows, columns) of the tokens of an image."""
        for _ in range(self.layers):
            height, width = (height + 1) // 2, (width + 1) // 2
        return height, width
