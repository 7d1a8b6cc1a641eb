"""Dropout (Srivastava et al. 2014) with a cheap mask."""

import torch
from torch import Tensor, nn

from multihead.nn.kernels.byte_dropout import byte_dropout


class Dropout(nn.Module):
    """Zero each element with chance p in training and scale the others so that the mean is kept.

    On a CPU, drawing the random numbers costs more than a small layer's arithmetic, so there the chance
    is a multiple of 1/256 and one 64-bit random number decides over eight elements.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as x."""
        if not self.training or self.p == 0:
            return x
        return byte_dropout(x, self.p) if x.device.type == "cpu" else torch.dropout(x, self.p, train=True)

    def extra_repr(self) -> str:
        """What ``repr`` shows."""
        return f"p={self.p}"
