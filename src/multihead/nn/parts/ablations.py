"""Ablations: residual connections with one part removed or replaced, to show what that part contributes."""

from torch import Tensor, nn

from multihead.nn.modules import Dropout
from multihead.nn.residual import Sublayer


class NoNorm(nn.Module):
    """x + Dropout(Sublayer(x)): the residual stream grows from layer to layer."""

    ends_normalised = True
    """The stack gets no final norm either."""

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Same shape as x."""
        out: Tensor = x + self.dropout(sublayer(x))
        return out


class NoResidual(nn.Module):
    """LayerNorm(Dropout(Sublayer(x))): whatever a sublayer drops is lost to the layers above."""

    ends_normalised = True

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Same shape as x."""
        out: Tensor = self.norm(self.dropout(sublayer(x)))
        return out


class PostBatchNorm(nn.Module):
    """BatchNorm(x + Dropout(Sublayer(x))) (Ioffe and Szegedy 2015): statistics per unit, over the batch.

    In training a position is normalised by all positions of the batch, later ones and padding included. Layer
    norm avoids this. Evaluation uses the running statistics.
    """

    ends_normalised = True

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Same shape as x, (..., d_model)."""
        summed = x + self.dropout(sublayer(x))
        out: Tensor = self.norm(summed.flatten(0, -2)).view_as(summed)
        return out
