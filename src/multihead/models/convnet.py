"""A residual convolutional network for small images, "Deep Residual Learning" (He et al. 2016, sec. 4.2).

The baseline of the vision transformers: 3 x 3 convolutions with batch norm in three stages, of which the
second and third halve the image and double the width; then the mean over all positions and a linear
classifier.
"""

from collections.abc import Mapping
from itertools import pairwise

import torch.nn.functional as F
from pydantic import PositiveInt
from torch import Tensor, nn

from multihead.batch import ImageBatch
from multihead.models._vision import ImageSettings
from multihead.nn.losses import Loss
from multihead.nn.parts.image_layers import apply_channels_last
from multihead.nn.parts.soft_labels import soft_label_loss

TASK = "images"


class Settings(ImageSettings):
    """Settings of the convolutional network; the defaults are ResNet-20 (Table 6)."""

    image_size: PositiveInt = 32
    """Height and width of the images, in pixels; set by the data."""
    classes: PositiveInt = 10
    """Number of classes; set by the data."""
    width: PositiveInt = 16
    """Channels of the first stage, doubled in the second and again in the third."""
    blocks: PositiveInt = 3
    """Residual blocks a stage, of two convolutions each (n in the paper, of 6n + 2 layers)."""


class ConvNet(nn.Module):
    """Maps images to logits of classes by residual blocks of convolutions."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = self.settings = settings
        self.stem = nn.Sequential(_convolution(s.channels, s.width), nn.BatchNorm2d(s.width), nn.ReLU())
        widths = [s.width, *(s.width << stage for stage in range(3) for _ in range(s.blocks))]
        self.blocks = nn.Sequential(
            *(
                ResidualConvolutions(d_in, d_out, stride=1 if d_in == d_out else 2)
                for d_in, d_out in pairwise(widths)
            )
        )
        self.classifier = nn.Linear(widths[-1], s.classes)
        nn.init.zeros_(self.classifier.weight)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, pixels_BChw: Tensor) -> Tensor:
        """Logits of the classes, (B, classes); ``pixels_BChw`` from 0 (black) to 1, of any size."""
        features_BChw: Tensor = self.blocks(apply_channels_last(self.stem, 2 * pixels_BChw - 1))
        logits_BK: Tensor = self.classifier(features_BChw.mean(dim=(2, 3)))
        return logits_BK

    def loss(self, batch: ImageBatch, step: int) -> Loss:
        """Cross-entropy per image; negative log-likelihood and accuracy as metrics."""
        return soft_label_loss(self(batch.pixels_BChw), batch, self.settings.label_smoothing)

    def taken_from(self, trained: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the reusable weights of a trained network: all but a classifier of other classes."""
        mine = self.classifier.state_dict(prefix="classifier.")
        fits = all(trained[name].shape == weight.shape for name, weight in mine.items() if name in trained)
        return {name: weight for name, weight in trained.items() if fits or name not in mine}


class ResidualConvolutions(nn.Module):
    """ReLU(x + BN(Conv(ReLU(BN(Conv(x)))))) (figure 2); the shortcut is strided and filled with 0 (option A).

    Args:
        d_in: channels of the input.
        d_out: channels of the output.
        stride: the first convolution's stride.
    """

    def __init__(self, d_in: int, d_out: int, stride: int) -> None:
        super().__init__()
        self.stride, self.more = stride, d_out - d_in
        self.residual = nn.Sequential(
            _convolution(d_in, d_out, stride),
            nn.BatchNorm2d(d_out),
            nn.ReLU(),
            _convolution(d_out, d_out),
            nn.BatchNorm2d(d_out),
        )

    def forward(self, x_BChw: Tensor) -> Tensor:
        """(B, d_in, h, w) to (B, d_out, h / stride, w / stride)."""
        shortcut = F.pad(x_BChw[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.more))
        return F.relu(shortcut + self.residual(x_BChw))


def _convolution(d_in: int, d_out: int, stride: int = 1) -> nn.Conv2d:
    convolution = nn.Conv2d(d_in, d_out, 3, stride=stride, padding=1, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return convolution


Model = ConvNet
