"""Token embeddings, scaled by sqrt(d_model) (Vaswani et al. 2017, sec. 3.4)."""

import math

import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn.description import EmbeddingSpec
from multihead.nn.ops import lookup


class TokenEmbedding(nn.Embedding):
    """Embeddings drawn from N(0, 1 / d_model) and scaled by sqrt(d_model), so that they have unit variance.

    The matrix can also serve as the output layer (tied weights, sec. 3.4; Press and Wolf 2017).

    Args:
        vocab_size: V.
        d_model: their width.
        size: initial standard deviation of the embeddings; the matrix itself keeps 1 / sqrt(d_model).
    """

    def __init__(self, vocab_size: int, d_model: int, *, size: float = 1.0) -> None:
        super().__init__(vocab_size, d_model)
        self.scale = size * math.sqrt(d_model)
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """(..., N) ids to (..., N, d_model)."""
        # Under autocast the residual stream has the products' format from the start: converting it around
        # every product would cost more than a small model's products.
        return lookup(self.weight, ids, self.scale)

    def logits(self, x: Tensor, bias_V: Tensor | None = None) -> Tensor:
        """Use the embeddings as the output layer: (..., d_model) to (..., V)."""
        return F.linear(x, self.weight, bias_V)

    def describe(self) -> EmbeddingSpec:
        """The description that engines and exports read."""
        return EmbeddingSpec(self.weight, self.scale)
