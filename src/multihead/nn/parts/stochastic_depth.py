"""Stochastic depth: sublayers are skipped at random in training (Huang et al. 2016)."""

import torch
from torch import Tensor, nn

from multihead.nn.description import ResidualSpec
from multihead.nn.residual import PreNorm, Sublayer, described_residual


class StochasticPreNorm(PreNorm):
    """x + b Dropout(Sublayer(LayerNorm(x))) / (1 - p) with b ~ Bernoulli(1 - p) for each row.

    Huang et al. rescale at test time (eq. 5). Here training does, so that the trained layer is ``PreNorm``.

    Attributes:
        drop_probability: p, the probability that a row skips the sublayer (:func:`set_drop_probabilities`).
    """

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__(d_model, dropout)
        self.drop_probability = 0.0

    def forward(self, x_BNd: Tensor, sublayer: Sublayer) -> Tensor:
        """Same shape as x."""
        if not self.training or self.drop_probability == 0:
            return super().forward(x_BNd, sublayer)
        kept_B11 = torch.rand(x_BNd.shape[0], 1, 1, device=x_BNd.device) >= self.drop_probability
        factor_B11 = (kept_B11 / (1 - self.drop_probability)).to(x_BNd.dtype)
        out: Tensor = x_BNd + self.dropout(sublayer(self.norm(x_BNd))) * factor_B11
        return out

    def describe(self) -> ResidualSpec:
        """The description that engines and exports read: the trained layer."""
        return described_residual("pre", self.norm, self.dropout)


def set_drop_probabilities(encoder: nn.Module, last: float) -> None:
    """Set drop probabilities that rise linearly from 0 at the first layer to ``last`` at the last.

    As in DeiT (Touvron et al. 2021); Huang et al. (eq. 4) begin with last / L.
    """
    layers: nn.ModuleList = encoder.layers  # type: ignore[assignment]
    for depth, layer in enumerate(layers):
        for part in layer.modules():
            if isinstance(part, StochasticPreNorm):
                part.drop_probability = last * depth / max(1, len(layers) - 1)
