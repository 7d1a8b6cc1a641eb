"""An encoder without positions over a set of images, which finds the odd one out.

Self-attention without positions is permutation-equivariant (Vaswani et al. 2017, sec. 3.5; Lee et al. 2019,
"Set Transformer"): reordering the set reorders the outputs and changes nothing else.
"""

from typing import Literal

import torch
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn

from multihead.batch import SetBatch
from multihead.nn import FeedForward, Loss, MultiHeadAttention, PreNorm, TransformerEncoder
from multihead.nn.initialisation import initialise
from multihead.nn.losses import LossTerm, smoothed_cross_entropy
from multihead.nn.parts.residual_stem import ResidualStem
from multihead.recipe import settings

TASK = "sets"


class Settings(settings.Settings):
    """Settings of a model of sets of images."""

    image_size: PositiveInt = 28
    """Height and width of the images, in pixels; set by the data."""
    channels: Literal[1, 3] = 1
    """1 for greyscale images, 3 for colour; set by the data."""
    stem_width: PositiveInt = 16
    """Channels of the first convolution, doubled wherever the image is halved."""
    patch_size: PositiveInt = 4
    """Stride of the convolutional stem, a power of 2; its feature map is averaged to one vector an image."""
    d_model: PositiveInt = 64
    """Width of an image's vector."""
    d_ff: PositiveInt = 128
    """Inner width of the feed-forward networks."""
    num_layers: PositiveInt = 2
    """Number of layers over the set."""
    num_heads: PositiveInt = 4
    """Number of attention heads."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of every sublayer's output and inside the feed-forward networks."""

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if self.d_model % self.num_heads:
            raise ValueError(f"d_model {self.d_model} is not a multiple of num_heads {self.num_heads}")
        if self.patch_size.bit_count() != 1:
            raise ValueError(f"patch_size {self.patch_size} is not a power of 2")
        return self


class SetEncoder(nn.Module):
    """Maps sets of images to a logit for each: is it the odd one?"""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        s = self.settings = settings
        self.mix = self.mixing(s)
        self.stem = ResidualStem(s.patch_size, s.channels, s.stem_width)
        self.project = nn.Linear(self.stem.width, s.d_model)
        self.output = nn.Linear(s.d_model, 1)
        for part in (self.mix, self.project, self.output):
            initialise(part, "xavier")

    def mixing(self, s: Settings) -> nn.Module:
        """The part that compares the images of a set, (B, N, d_model) to the same."""
        return TransformerEncoder(
            s.num_layers,
            s.d_model,
            attention=lambda: MultiHeadAttention(s.d_model, s.num_heads),
            feed_forward=lambda: FeedForward(s.d_model, s.d_ff, dropout=s.dropout),
            residual=PreNorm,
            dropout=s.dropout,
        )

    def forward(self, pixels_BNChw: Tensor) -> Tensor:
        """Logits of the odd one, (B, N); pixels are from 0 (black) to 1."""
        x_BNd = self.project(self.images(pixels_BNChw))
        logits_BN: Tensor = self.output(self.mix(x_BNd)).squeeze(-1)
        return logits_BN

    def images(self, pixels_BNChw: Tensor) -> Tensor:
        """One vector an image, (B, N, width): the mean over its feature map."""
        features = self.stem(2 * pixels_BNChw.flatten(0, 1) - 1)
        return torch.unflatten(features.mean(dim=(2, 3)), 0, tuple(pixels_BNChw.shape[:2]))

    def loss(self, batch: SetBatch, step: int) -> Loss:
        """Cross-entropy over the images of a set; accuracy as a metric."""
        loss, _, correct = smoothed_cross_entropy(self(batch.pixels_BNChw), batch.odd_B, 0.0)
        return {"loss": LossTerm(1.0, loss, per="sets"), "accuracy": LossTerm(0.0, correct, per="sets")}


Model = SetEncoder
