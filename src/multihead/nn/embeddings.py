"""Token embeddings, times sqrt(d_model) (Vaswani et al. 2017, sec. 3.4)."""

import math

import torch.nn.functional as F
from torch import Tensor, nn

from multihead.nn.description import EmbeddingSpec
from multihead.nn.ops import lookup


class TokenEmbedding(nn.Embedding):
    """Embeddings drawn from N(0, 1 / d_model), times sqrt(d_model), so that they start at unit size.

    The same matrix can serve as the output layer's (tied weights, sec. 3.4; Press and Wolf 2017).

    Args:
        vocab_size: V.
        d_model: their width.
        size: another standard deviation to start at; the output layer's stays what it is.
    """

    def __init__(self, vocab_size: int, d_model: int, *, size: float = 1.0) -> None:
        super().__init__(vocab_size, d_model)
        self.scale = size * math.sqrt(d_model)
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """(..., N) ids to (..., N, d_model)."""
        # Under autocast the residual stream is in the product's format from the start: converting it to
        # and fro around every product would cost more than the products of a small model.
        return lookup(self.weight, ids, self.scale)

    def logits(self, x: Tensor, bias_V: Tensor | None = None) -> Tensor:
        """Use the embeddings as the output layer: (..., d_model) to (..., V)."""
        return F.linear(x, self.weight, bias_V)

    def describe(self) -> EmbeddingSpec:
        """The description that engines and exports read."""
        return EmbeddingSpec(self.weight, self.scale)
