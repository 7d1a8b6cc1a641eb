"""Deep Sets (Zaheer et al. 2017): the images of a set are compared with their mean, without attention.

The baseline of ``set_encoder``: the same images' vectors, the same feed-forward networks and widths.
"""

import torch
from torch import Tensor, nn

from multihead.models import set_encoder
from multihead.models.set_encoder import SetEncoder
from multihead.nn import FeedForward, PreNorm
from multihead.nn.layers import Residual
from multihead.nn.modules import LayerNorm, Linear

TASK = "sets"


class Settings(set_encoder.Settings):
    """Settings of Deep Sets; num_heads has no effect."""


class MeanLayer(nn.Module):
    """A linear layer of each element and the set's mean (eq. 4), then feed-forward, each with a residual."""

    def __init__(self, d_model: int, feed_forward: FeedForward, residual: Residual) -> None:
        super().__init__()
        self.mixed = Linear(2 * d_model, d_model)
        self.feed_forward = feed_forward
        self.around_mean, self.around_feed_forward = residual(), residual()

    def forward(self, x_BNd: Tensor) -> Tensor:
        """Apply the layer; (B, N, d_model) to the same."""
        x_BNd = self.around_mean(x_BNd, self.compare)
        out: Tensor = self.around_feed_forward(x_BNd, self.feed_forward)
        return out

    def compare(self, x_BNd: Tensor) -> Tensor:
        """Each element beside the mean of all."""
        mean_BNd = x_BNd.mean(dim=1, keepdim=True).expand_as(x_BNd)
        out: Tensor = self.mixed(torch.cat([x_BNd, mean_BNd], dim=-1))
        return out


class DeepSets(SetEncoder):
    """Maps sets of images to a logit for each, by the set's mean alone."""

    def mixing(self, s: set_encoder.Settings) -> nn.Module:
        """Layers of means, (B, N, d_model) to the same."""
        layers = [
            MeanLayer(
                s.d_model,
                FeedForward(s.d_model, s.d_ff, dropout=s.dropout),
                lambda: PreNorm(s.d_model, s.dropout),
            )
            for _ in range(s.num_layers)
        ]
        return nn.Sequential(*layers, LayerNorm(s.d_model))


Model = DeepSets
