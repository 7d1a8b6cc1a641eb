"""Dropout (Srivastava et al. 2014) with a cheap mask."""

from torch import Tensor, nn

from multihead.nn.kernels.byte_dropout import dropped


class Dropout(nn.Module):
    """Zero each element with chance p in training and scale the others so that the mean is kept.

    On a CPU, drawing the random numbers costs more than a small layer's arithmetic, so there the chance
    is a multiple of 1/256 and one 64-bit random number decides over eight elements.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    @property
    def chance(self) -> float:
        """The chance now: 0 outside training."""
        return self.p if self.training else 0.0

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as x."""
        return dropped(x, self.chance)

    def extra_repr(self) -> str:
        """What ``repr`` shows."""
        return f"p={self.p}"
