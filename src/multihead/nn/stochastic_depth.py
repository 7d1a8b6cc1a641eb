"""Stochastic depth: sublayers are left out by chance (Huang et al. 2016)."""

import torch
from torch import Tensor

from multihead.nn.layers import TransformerEncoder
from multihead.nn.residual import PreNorm, Sublayer


class StochasticPreNorm(PreNorm):
    """x + b Dropout(Sublayer(LayerNorm(x))) / (1 - chance), b = 0 with some chance, for each row.

    Huang et al. scale when it is used (eq. 5); here it is done in training, so that in use it is ``PreNorm``.

    Attributes:
        chance: that a row goes past the sublayer; see :func:`deepen`.
    """

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__(d_model, dropout)
        self.chance = 0.0

    def forward(self, x_BNd: Tensor, sublayer: Sublayer) -> Tensor:
        """Same shape as x."""
        if not self.training or self.chance == 0:
            return super().forward(x_BNd, sublayer)
        stays_B11 = torch.rand(x_BNd.shape[0], 1, 1, device=x_BNd.device) >= self.chance
        share_B11 = (stays_B11 / (1 - self.chance)).to(x_BNd.dtype)
        out: Tensor = x_BNd + self.dropout(sublayer(self.norm(x_BNd))) * share_B11
        return out


def deepen(encoder: TransformerEncoder, last: float) -> None:
    """Let the chance rise linearly from 0 at the first layer to ``last`` at the last.

    As in DeiT (Touvron et al. 2021); Huang et al. (eq. 4) begin with last / L.
    """
    for depth, layer in enumerate(encoder.layers):
        for part in layer.modules():
            if isinstance(part, StochasticPreNorm):
                part.chance = last * depth / max(1, len(encoder.layers) - 1)
